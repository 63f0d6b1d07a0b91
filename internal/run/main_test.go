package run

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage grow as the program does (cmd/dprelease/collector.go): thousands of tiny runs spend a third of
// their time on the collector otherwise.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
