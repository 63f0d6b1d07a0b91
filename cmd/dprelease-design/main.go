// Command dprelease-design carries out the commands of dprelease for those who write jobs and mechanisms (package
// internal/author). dprelease starts it.
package main

import (
	"context"
	"os"
	"os/signal"
	"time"

	"github.com/dprelease/dprelease/cmd/dprelease/signals"
	"github.com/dprelease/dprelease/internal/author"
	"github.com/dprelease/dprelease/internal/command"
)

// release is set by the build.
var release = ""

func main() { os.Exit(realMain()) }

func realMain() int {
	if command.Serving(os.Args[1:]) {
		signal.Reset() // the host ends a mechanism, and hears nothing from it
		command.ServeBuiltins()
		return command.ExitDone
	}
	// dprelease passes on what a terminal has signalled to both.
	ctx, stop := command.Interruptible(context.Background(), signals.Received, time.Second)
	defer stop()
	return author.Execute(ctx, command.OfProcess(release), os.Args[1:])
}
