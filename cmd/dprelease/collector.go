package main

import (
	"os"
	"runtime/debug"
)

// memoryLimit is where the collector begins to work hard. A run holds a few row
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
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
