// Command dprelease-design serves the page on which a person designs a job (package internal/design). dprelease design
// starts it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/dprelease/dprelease/internal/design"
	"github.com/dprelease/dprelease/pipeline"
	"github.com/dprelease/dprelease/plugins/builtin"
	"github.com/dprelease/dprelease/plugins/sdk/serve"
)

// release is set by the build.
var release = "unknown"

func main() {
	if len(os.Args) == 2 && os.Args[1] == pipeline.ServeArgument {
		serve.Mechanisms(builtin.Served()...)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "dprelease: %v\nsee dprelease design --help\n", err)
		os.Exit(pipeline.ExitUsage)
	}
}

// run serves the page until ctx ends.
func run(ctx context.Context, args []string, out io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return errors.New("the path of this program is not known")
	}
	s := &design.Session{Getenv: os.LookupEnv, Self: self, Version: release}
	f := flag.NewFlagSet("design", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Func("set", "", func(text string) error { s.Set = append(s.Set, text); return nil })
	if err := f.Parse(args); err != nil {
		return err
	}
	switch ext := strings.ToLower(filepath.Ext(f.Arg(0))); {
	case f.NArg() > 1:
		return errors.New("design takes one table or one job")
	case f.NArg() == 0:
		s.Path = "job.yaml"
	case ext == ".yaml" || ext == ".yml":
		s.Path = f.Arg(0)
	default:
		s.Table = f.Arg(0)
		base, _, _ := strings.Cut(filepath.Base(filepath.Clean(s.Table)), ".")
		if s.Path = base + ".yaml"; s.Exists() {
			return fmt.Errorf("%s is there already: open it with dprelease design %s", s.Path, s.Path)
		}
	}
	l, server, address, err := s.Listen()
	if err != nil {
		return errors.New("no port of this machine could be opened")
	}
	fmt.Fprintf(out, "the page for %s is open on this machine alone, at\n\n  %s\n\nopen the address in a browser; Ctrl-C ends the page\n", s.Path, address)
	server.BaseContext = func(net.Listener) context.Context { return ctx } // what is under way stops with the command
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.Background(), 4*time.Second)
	defer cancel()
	if err := server.Shutdown(stopping); err != nil {
		_ = server.Close() // what is under way is given up
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
