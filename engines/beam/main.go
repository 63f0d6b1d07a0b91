package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/container/tools"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"

	"github.com/dprelease/dprelease/internal/run/engine"
)

// provision is the address where a runner says what a worker needs to know. Only a worker in a container, whose container asks,
// is started without it.
var provision = flag.String("provision_endpoint", "", "where a runner that starts this program as a worker tells its addresses")

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
	case works(args):
		flag.Parse()
		if err := provisioned(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "dprelease-beam: the runner that started this worker does not tell its addresses:", err)
			os.Exit(1)
		}
		beam.Init() // works until the runner ends it
	default:
		fmt.Fprintln(os.Stderr, "dprelease starts this program for a job that says engine: put it into the folder of dprelease, and run that")
		os.Exit(2)
	}
}

// works reports whether a runner, or the program in a worker's container, starts this program as a worker.
func works(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
		return a != name && (name == "worker" || name == "provision_endpoint")
	})
}

// provisioned asks the runner for the addresses of a worker that it started as a process.
func provisioned(ctx context.Context) error {
	if *provision == "" {
		return nil
	}
	id := strings.Trim(flag.Lookup("id").Value.String(), "'") // prism quotes it
	info, err := tools.ProvisionInfo(grpcx.WriteWorkerID(ctx, id), *provision)
	if err != nil {
		return err
	}
	// Prism says no address: one server does it all.
	log := cmp.Or(info.GetLoggingEndpoint().GetUrl(), *provision)
	control := cmp.Or(info.GetControlEndpoint().GetUrl(), *provision)
	return errors.Join(flag.Set("worker", "true"), flag.Set("id", id),
		flag.Set("logging_endpoint", log), flag.Set("control_endpoint", control))
}
