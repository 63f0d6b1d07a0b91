//go:build linux

package host

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/dprelease/dprelease/internal/plugin/sandbox"
)

// hostMode is a host in a process of its own: it starts the plugin "MODE ARGS..."
// and either runs a release and prints the error, or waits to be killed. A host that "shows" hands on what
// the plugin prints: no run may.
func hostMode(args []string) {
	wait, shows, args := args[0] == "wait", args[0] == "shows", args[1:]
	exe, _ := os.Executable()
	ctx := context.Background()
	c := Command{Name: "test", Path: exe, Args: append([]string{"plugin"}, args...), Confine: sandbox.Confinement{Mode: sandbox.Mode(os.Getenv("TEST_SANDBOX"))}}
	var limits Limits
	if shows {
		limits.Quarantine = os.Stderr
	}
	p, err := Start(ctx, c, limits)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	if wait {
		fmt.Println("started")
		time.Sleep(time.Minute)
	}
	plan, err := p.Plan(ctx, request())
	if err == nil {
		_, err = p.Release(ctx, releaseOf(request(), plan), rows, &fakeDrawer{})
	}
	fmt.Println(err)
}

func stopProcess(p *Plugin) error {
	pid := p.runner.process().Pid()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	for {
		if s, ok := processes()[pid]; !ok || s.state == 'T' {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
}
