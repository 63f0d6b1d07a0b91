// Command dprelease-design carries out the commands of dprelease for those who write jobs and mechanisms (package
// internal/author). dprelease starts it.
package main

import (
	"context"
	"os"
	"time"

	"github.com/dprelease/dprelease/cmd/dprelease/signals"
	"github.com/dprelease/dprelease/internal/author"
	"github.com/dprelease/dprelease/internal/command"
)

// release is set by the build.
var release = ""

func main() { os.Exit(realMain()) }

func realMain() int {
	// dprelease passes on what a terminal has signalled to both.
	ctx, stop := command.Interruptible(context.Background(), signals.Received, time.Second)
	defer stop()
	return author.Execute(ctx, command.OfProcess(release), os.Args[1:])
}
