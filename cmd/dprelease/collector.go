package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// memoryLimit is the heap at which the collector begins to work hard. A run holds a few row
// groups and one release at a time; this is far above what it needs, and far
// enough below 300 MB that garbage alone never gets there.
const memoryLimit = 160 << 20

// tuneCollector lets garbage grow to four times what is in use, within the limit:
// a run is short, and collecting a heap of a few megabytes at every doubling costs
// it more than the memory is worth. What the user's environment says goes first. A
// mechanism's process does not get here and keeps Go's defaults: how much it holds
// is its own affair.
func tuneCollector() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
		runtime.SetFinalizer(&[16]byte{}, followUse)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// followUse runs after each collection. Where a large release alone comes near the limit,
// it raises the limit to twice what is in use: the collector would otherwise run all the
// time and free nothing.
func followUse(again *[16]byte) {
	use := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(use)
	debug.SetMemoryLimit(max(memoryLimit, 2*int64(use[0].Value.Uint64())))
	runtime.SetFinalizer(again, followUse)
}
