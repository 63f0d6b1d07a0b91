package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/dprelease/dprelease/internal/run/engine"
)

func main() {
	switch args := os.Args[1:]; {
	case len(args) == 1 && args[0] == engine.Argument:
		os.Args = os.Args[:1]
		out := os.Stdout
		os.Stdout = os.Stderr // whatever a runner prints goes where the host drops it
		flag.Parse()
		beam.Init()
		if attend(context.Background(), os.Stdin, out, carryOut) != nil {
			os.Exit(1)
		}
	case slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(strings.TrimLeft(a, "-"), "worker") && a[0] == '-' }):
		flag.Parse()
		beam.Init() // works until the runner ends it
	default:
		fmt.Fprintln(os.Stderr, "dprelease starts this program for a job that says engine: put it into the folder of dprelease, and run that")
		os.Exit(2)
	}
}
