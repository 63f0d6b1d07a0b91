package main

import (
	"context"
	"os"
	"slices"

	"github.com/dprelease/dprelease/cmd/dprelease/signals"
	"github.com/dprelease/dprelease/internal/command"
)

//go:generate sh -c "../../bin/dprelease man --markdown > ../../docs/commands.md"

// release is set by the linker: -ldflags "-X main.release=1.0.0".
var release = ""

func main() { os.Exit(realMain()) }

func realMain() int {
	e := &environment{Environment: command.OfProcess(release), jobs: pipelineJobs{}}
	if slices.Contains(os.Args[1:], "run") { // nothing else reads a private row
		e.Errw = apart()
	}
	tuneCollector()
	ctx, stop := command.Interruptible(context.Background(), signals.Received, 0)
	defer stop()
	return e.execute(ctx, os.Args[1:])
}
