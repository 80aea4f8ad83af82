// Part of tenure, under the Boost Software License 1.0 (see LICENSE).

// miniredis as a program: serves 127.0.0.1:PORT until it is killed. It does not expire keys by itself, so its clock is
// moved on with the real one.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/alicebob/miniredis/v2"
)

func main() {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr("127.0.0.1:" + os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// a key loses time from before it was set, so it expires early by up to a step
	const step = 50 * time.Microsecond
	last := time.Now()
	for now := range time.Tick(step) {
		server.FastForward(now.Sub(last))
		last = now
	}
}
