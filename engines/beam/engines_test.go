package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"

	"github.com/dprelease/dprelease/internal/run/engine"
)

// serving starts a job server, and returns its address and what ends it with its workers, as if the machine were gone.
func serving(t *testing.T, runner string) (address string, end func()) {
	t.Helper()
	if _, err := os.Stat(filepath.Join("../../bin/beam-engines", runner)); err != nil {
		t.Skipf("LEFT OUT: nothing was run on %s; make beam-engines fetches it (410 MB)", runner)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = free.Addr().String()
	free.Close()
	_, port, _ := net.SplitHostPort(address)
	server := exec.Command("jobservers/serve.sh", runner, port, "--artifacts-dir="+t.TempDir())
	server.Env = append(os.Environ(), "JDK_JAVA_OPTIONS=-Xmx2g -Djava.io.tmpdir="+t.TempDir())
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	if err != nil {
		t.Fatal(err)
	}
	server.Stdout, server.Stderr = said, said
	server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its workers are of the same group
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan bool)
	go func() {
		_ = server.Wait()
		close(gone)
	}()
	end = func() {
		_ = syscall.Kill(-server.Process.Pid, syscall.SIGKILL)
		<-gone
	}
	t.Cleanup(func() {
		end()
		if text, err := os.ReadFile(said.Name()); err == nil && t.Failed() {
			t.Logf("%s said: %s", runner, text[max(0, len(text)-20000):])
		}
	})
	for {
		if c, err := net.DialTimeout("tcp", address, time.Second); err == nil {
			c.Close()
			return address, end
		}
		select {
		case <-gone:
			t.Fatal("the job server ended")
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// cluster is a configuration of a runner at an address, which starts this program as a worker.
func cluster(runner, address string) func(*testing.T, string, map[string]string) engine.Config {
	return func(t *testing.T, dir string, variables map[string]string) engine.Config {
		t.Helper()
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		c := processesOf(t, dir, runner, self, variables)
		c.Options["endpoint"], c.Options["workers"] = address, "2"
		return c
	}
}

// Flink and Spark find what one machine finds, with the same random bits; a whole job has the releases and the price of a plain
// run; and it is the same when a worker is killed or stopped in the middle of a step.
func TestFlinkAndSpark(t *testing.T) {
	for _, runner := range []string{"flink", "spark"} {
		t.Run(runner, func(t *testing.T) {
			address, end := serving(t, runner)
			configure := cluster(runner, address)
			for kind := range kinds {
				t.Run(kind, func(t *testing.T) { compare(t, kind, configure(t, t.TempDir(), nil)) })
			}
			for _, kind := range []string{"rows", "fold"} {
				t.Run("whole "+kind, func(t *testing.T) {
					text, err := json.Marshal(configure(t, t.TempDir(), nil).Options)
					if err != nil {
						t.Fatal(err)
					}
					wholeJob(t, kind, fmt.Sprintf("engine: {runner: %s, options: %s}\n", runner, text))
				})
			}
			for _, c := range []struct{ kind, signal string }{{"rows", "KILL"}, {"fold", "KILL"}, {"rows", "STOP"}} {
				t.Run(c.kind+" "+c.signal, func(t *testing.T) {
					losesWorker(t, c.kind, c.signal, configure)
					idle(t, address)
				})
			}
			t.Run("gone", func(t *testing.T) { losesServer(t, configure, end) })
		})
	}
}

// idle fails when a pipeline that was given up runs on: its workers would read rows for nobody.
func idle(t *testing.T, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, err := grpcx.Dial(ctx, address, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	all, err := jobpb.NewJobServiceClient(conn).GetJobs(ctx, &jobpb.GetJobsRequest{})
	if err != nil || len(all.GetJobInfo()) == 0 {
		t.Errorf("%d jobs, %v", len(all.GetJobInfo()), err)
	}
	for _, j := range all.GetJobInfo() {
		if s := j.GetState(); s == jobpb.JobState_RUNNING || s == jobpb.JobState_STARTING {
			t.Errorf("%s is %s", j.GetJobName(), s)
		}
	}
}

// losesServer carries parts out on an engine that goes, with its workers, while one of them adds up. The run ends soon after,
// with words of its own.
func losesServer(t *testing.T, configure func(*testing.T, string, map[string]string) engine.Config, end func()) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "ends")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	config := configure(t, dir, map[string]string{"END_ONCE": pipe, "END_BY": "STOP"})
	defer func(before func(time.Duration) (<-chan time.Time, func())) { ticker = before }(ticker)
	clock, went := make(chan time.Time), make(chan time.Time, 1)
	ticker = func(time.Duration) (<-chan time.Time, func()) { return clock, func() {} }
	go func() {
		if f, err := os.Open(pipe); err == nil {
			_, _ = io.Copy(io.Discard, f) // until a worker has begun
			f.Close()
		}
		end()
		went <- time.Now()
		close(clock) // time flies
	}()
	err := carryOut(t.Context(), engine.Work{Config: config, Order: []byte("{}"), Parts: 6}, func(int, []byte) error { return nil })
	if f, none := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); none == nil {
		f.Close()
		t.Error("no worker began")
	}
	if !errors.Is(err, engine.ErrStalled) {
		t.Errorf("%v", err)
	}
	if took := time.Since(<-went); took > 40*time.Second {
		t.Errorf("the run ends %s after the job server", took)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "dprelease-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	err = carryOut(t.Context(), engine.Work{Config: config, Order: []byte("{}"), Check: true}, nil)
	if err == nil || !strings.Contains(err.Error(), "no job server of Beam answers there") {
		t.Errorf("the check of a job server that is gone: %v", err)
	}
}
