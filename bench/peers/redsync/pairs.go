// Part of tenure, under the Boost Software License 1.0 (see LICENSE).

// redsync: 64 goroutines, each acquiring and releasing a lock of its own over independent servers.
// usage: pairs SECONDS KEYS PORT...    prints pairs per second and microseconds of CPU per pair
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-redsync/redsync/v4"
	lockredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		fail(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "redsync:", err)
	os.Exit(1)
}

func main() {
	seconds, err := strconv.ParseFloat(os.Args[1], 64)
	if err != nil {
		fail(err)
	}
	keys, err := strconv.Atoi(os.Args[2])
	if err != nil {
		fail(err)
	}
	var pools []lockredis.Pool
	for _, port := range os.Args[3:] {
		pools = append(pools, goredis.NewPool(redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port, PoolSize: keys})))
	}
	locks := redsync.New(pools...)

	var pairs atomic.Int64
	for number := 0; number < keys; number++ {
		go func(name string) {
			for {
				lock := locks.NewMutex(name, redsync.WithExpiry(10*time.Second))
				if err := lock.Lock(); err != nil {
					fail(err)
				}
				if released, err := lock.Unlock(); err != nil || !released {
					fail(fmt.Errorf("a release ended as %v, %v", released, err))
				}
				pairs.Add(1)
			}
		}("bench:lock:" + strconv.Itoa(number))
	}

	// the first moments connect
	time.Sleep(500 * time.Millisecond)
	before, begin, cpu := pairs.Load(), time.Now(), cpuSeconds()
	time.Sleep(time.Duration(seconds * float64(time.Second)))
	done := float64(pairs.Load() - before)
	fmt.Println(done/time.Since(begin).Seconds(), (cpuSeconds()-cpu)*1e6/done)
}
