//go:build linux

package host

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/launch"
)

// A process that was started early is the plugin's from then on, in every way.
func TestEarlyProcess(t *testing.T) {
	m := marker()
	cmd := command(t, "good", m)
	t.Cleanup(launch.Drop)
	launch.Begin(cmd.Args...)
	early := launch.Waiting()
	if early == 0 {
		t.Fatal("no process was started early")
	}
	p, err := Start(context.Background(), cmd, Limits{SoleParent: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if pid := p.runner.process().pid; pid != early || p.early != nil {
		t.Errorf("the plugin is process %d; %d was started early", pid, early)
	}
	if got := launch.Waiting(); got != 0 {
		t.Errorf("process %d waits still", got)
	}
	if _, err := p.Describe(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Plan(context.Background(), request()); err != nil {
		t.Fatal(err)
	}
	p.Close()
	checkGone(t, m, p.base)
}

// What go-plugin puts into the environment of a plugin is what a process that was
// started early has, but for its folders: a new version of go-plugin must not end
// that unnoticed. The environment holds nothing of the host's.
func TestEarlyEnvironment(t *testing.T) {
	t.Setenv("SECRET", "4815162342")
	m := marker()
	early := command(t, "good", m)
	t.Cleanup(launch.Drop)
	launch.Begin(early.Args...)
	pid := launch.Waiting()
	have := environmentOf(t, pid)
	p := start(t, "good", Limits{}, "later")
	want := environmentOf(t, p.runner.process().pid)
	if len(have) != len(want) || len(have) < 10 {
		t.Fatalf("early %q, later %q", have, want)
	}
	for key, value := range want {
		switch key {
		case "HOME", "TMPDIR", "PLUGIN_UNIX_SOCKET_DIR", launch.MarkKey:
			if have[key] == "" || have[key] == value {
				t.Errorf("%s is %q, for another plugin %q", key, have[key], value)
			}
		default:
			if have[key] != value {
				t.Errorf("%s is %q, for another plugin %q", key, have[key], value)
			}
		}
	}
	launch.Drop()
	checkGone(t, m, have["HOME"])
}

// An early process that nobody has taken is none of another plugin's descendants, and
// ends when it is dropped.
func TestEarlyProcessIsNoOrphan(t *testing.T) {
	m := marker()
	t.Cleanup(launch.Drop)
	launch.Begin(command(t, "good", m).Args...)
	early := launch.Waiting()
	base := environmentOf(t, early)["HOME"]
	p := start(t, "good", Limits{SoleParent: true}, "other")
	if pid := p.runner.process().pid; pid == early {
		t.Error("a process with other arguments was taken")
	}
	p.Close()
	if pids := alive(t, m); len(pids) != 1 || pids[0] != early {
		t.Fatalf("after another plugin's end %v are left, want %d", pids, early)
	}
	launch.Drop()
	checkGone(t, m, base)
	launch.Drop() // again is nothing
}

// environmentOf reads the environment that a process was started with.
func environmentOf(t *testing.T, pid int) map[string]string {
	t.Helper()
	var b []byte
	for deadline := time.Now().Add(5 * time.Second); len(b) == 0; time.Sleep(time.Millisecond) {
		var err error // the kernel shows it some moments after the start
		if b, err = os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err != nil || time.Now().After(deadline) {
			t.Fatalf("the environment of process %d: %v", pid, err)
		}
	}
	env := map[string]string{}
	for kv := range strings.SplitSeq(strings.TrimRight(string(b), "\x00"), "\x00") {
		k, v, _ := strings.Cut(kv, "=")
		env[k] = v
	}
	return env
}
