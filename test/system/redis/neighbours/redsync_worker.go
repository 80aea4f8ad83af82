// Part of tenure, under the Boost Software License 1.0 (see LICENSE).

// A worker as people write it with redsync, on the keys of a tenure pool.
//
//	redsync_worker PORT PREFIX SIZE TTL_MS HOLD_MS REST_MS SECONDS AUDIT_PIPE AUDIT_FILE PAUSE_MS
//
// It tries one slot after the other by TryLock, and tries again after PAUSE_MS while all are held. It extends what it
// holds every third of the ttl, wants no slot for REST_MS after a release, and tells the auditor through AUDIT_PIPE when
// it relies on a slot. HOLD_MS, REST_MS and PAUSE_MS are ranges: 10-50.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "redsync_worker:", err)
		os.Exit(1)
	}
}

// The auditor's clock, CLOCK_BOOTTIME.
func now() time.Duration {
	const clockBoottime = 7
	var read syscall.Timespec
	if _, _, number := syscall.Syscall(
		syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&read)), 0); number != 0 {
		check(number)
	}
	return time.Duration(read.Nano())
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	check(err)
	return value
}

// A range of milliseconds.
type between struct{ shortest, longest int }

func parseBetween(text string) between {
	shortest, longest, _ := strings.Cut(text, "-")
	return between{number(shortest), number(longest)}
}

func (b between) random() time.Duration {
	return time.Duration(b.shortest+rand.Intn(b.longest-b.shortest+1)) * time.Millisecond
}

type audit struct {
	orders  io.Writer
	answers *bufio.Reader
}

func openAudit(program, file string) audit {
	pipe := exec.Command(program, file)
	orders, err := pipe.StdinPipe()
	check(err)
	answers, err := pipe.StdoutPipe()
	check(err)
	check(pipe.Start())
	return audit{orders, bufio.NewReader(answers)}
}

func (a audit) order(words ...any) string {
	_, err := fmt.Fprintln(a.orders, words...)
	check(err)
	answer, err := a.answers.ReadString('\n')
	check(err)
	return strings.TrimSpace(answer)
}

type worker struct {
	locks             *redsync.Redsync
	audit             audit
	prefix            string
	size              int
	ttl               time.Duration
	hold, rest, pause between
}

func (w worker) validUntil(asked time.Duration) time.Duration {
	return asked + w.ttl*99/100 - 10*time.Millisecond
}

// The first free slot and until when it is ours; no lock if all are held.
func (w worker) acquire() (slot int, lock *redsync.Mutex, validUntil time.Duration) {
	for slot = 0; slot < w.size; slot++ {
		lock = w.locks.NewMutex(w.prefix+strconv.Itoa(slot), redsync.WithExpiry(w.ttl))
		asked := now()
		err := lock.TryLock()
		if err == nil {
			return slot, lock, w.validUntil(asked)
		}
		// redsync gives a request a twentieth of the ttl, which a busy machine may exceed
		var taken *redsync.ErrTaken
		if !errors.As(err, &taken) && !errors.Is(err, context.DeadlineExceeded) {
			check(err)
		}
	}
	return 0, nil, 0
}

func (w worker) use(slot int, lock *redsync.Mutex, validUntil time.Duration) {
	entry := w.audit.order("enter", slot, int64(validUntil))
	end := now() + w.hold.random()
	renewal := now() + w.ttl/3
	for now() < min(end, validUntil) {
		time.Sleep(2 * time.Millisecond)
		if now() < renewal {
			continue
		}
		asked := now()
		renewal = asked + w.ttl/3
		extended, err := lock.Extend()
		if extended {
			validUntil = w.validUntil(asked)
			w.audit.order("extend", entry, int64(validUntil))
		} else if now() < validUntil {
			check(fmt.Errorf("slot %d was lost before its ttl was over: %v", slot, err))
		}
	}
	w.audit.order("leave", entry)
}

func (w worker) run(length time.Duration) {
	for end := now() + length; now() < end; {
		slot, lock, validUntil := w.acquire()
		if lock == nil {
			time.Sleep(w.pause.random())
			continue
		}
		w.use(slot, lock, validUntil)
		// where the ttl was over first there is nothing to give back
		_, _ = lock.Unlock()
		time.Sleep(w.rest.random())
	}
}

func main() {
	if len(os.Args) != 11 {
		check(errors.New("usage: redsync_worker PORT PREFIX SIZE TTL_MS HOLD_MS REST_MS SECONDS AUDIT_PIPE AUDIT_FILE PAUSE_MS"))
	}
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Args[1]})
	worker{
		locks:  redsync.New(goredis.NewPool(client)),
		audit:  openAudit(os.Args[8], os.Args[9]),
		prefix: os.Args[2],
		size:   number(os.Args[3]),
		ttl:    time.Duration(number(os.Args[4])) * time.Millisecond,
		hold:   parseBetween(os.Args[5]),
		rest:   parseBetween(os.Args[6]),
		pause:  parseBetween(os.Args[10]),
	}.run(time.Duration(number(os.Args[7])) * time.Second)
}
