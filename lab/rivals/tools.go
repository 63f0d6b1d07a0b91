package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

//go:embed scripts/*.py
var scripts embed.FS

// tool is a rival: the packages that make its environment, their licence, and its script.
type tool struct {
	name, script string
	packages     []string
	licence      string
	few          map[string]int // the runs of a task that takes long, and of those that are not named
}

var tools = []tool{
	{"OpenDP", "opendp_tasks.py", []string{"opendp[polars]==0.16.0"}, "MIT", map[string]int{"means": 10, "keys": 5, "visits": 10}},
	{"PyDP (Google)", "pydp_tasks.py", []string{"python-dp==1.1.5"}, "MIT; Google's library is Apache-2.0", nil},
	{"PipelineDP", "pipelinedp_tasks.py", []string{"pipeline-dp==0.3.1", "python-dp==1.1.5"}, "Apache-2.0", map[string]int{"": 20}},
	{"SmartNoise", "smartnoise_tasks.py", []string{"smartnoise-sql==1.0.10"}, "MIT", map[string]int{"": 20}},
	{"private-pgm", "mbi_tasks.py", []string{"mbi==2.0.0"}, "Apache-2.0", map[string]int{"": 3}},
	{"dp_accounting", "accounting_tasks.py", []string{"dp-accounting==0.6.0"}, "Apache-2.0", nil},
	{"autodp", "accounting_tasks.py", []string{"autodp==0.2.3.1"}, "Apache-2.0", nil},
	{"jax-privacy", "accounting_tasks.py", []string{"jax-privacy==2.0.0"}, "Apache-2.0", nil},
}

// installing is held by who makes an environment.
var installing sync.Mutex

// runs are those of a task, of so many that are wanted.
func (t tool) runs(task string, wanted int) int {
	few := t.few[""]
	if n, named := t.few[task]; named {
		few = n
	}
	if few == 0 {
		return wanted
	}
	return min(few, wanted)
}

// python makes the environment of a tool, unless it is there, and returns its interpreter.
func (t tool) python(ctx context.Context, folder string) (string, error) {
	installing.Lock()
	defer installing.Unlock()
	home := filepath.Join(folder, strings.NewReplacer("[", "-", "]", "", "=", "").Replace(t.packages[0]))
	python, done := filepath.Join(home, "bin", "python"), filepath.Join(home, "installed")
	if _, err := os.Stat(done); err == nil {
		return python, nil
	}
	install := append([]string{python, "-m", "pip", "install", "-q"}, t.packages...)
	for _, command := range [][]string{{"python3", "-m", "venv", home}, install} {
		if text, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s does not install: %w\n%s", t.name, err, text)
		}
	}
	return python, os.WriteFile(done, nil, 0o600)
}

// use holds the time and memory of a process.
type use struct {
	cpu, wall time.Duration
	memory    int64 // bytes at its peak
}

// timed runs a command and returns what it printed and took.
func timed(ctx context.Context, name string, args ...string) ([]byte, use, error) {
	c := exec.CommandContext(ctx, name, args...)
	var out, bad bytes.Buffer
	c.Stdout, c.Stderr = &out, &bad
	began := time.Now()
	err := c.Run()
	u := use{wall: time.Since(began)}
	if s := c.ProcessState; s != nil {
		u.cpu = s.UserTime() + s.SystemTime()
		if r, ok := s.SysUsage().(*syscall.Rusage); ok {
			u.memory = r.Maxrss << 10
		}
	}
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", name, err, bad.Bytes())
	}
	return out.Bytes(), u, err
}

// answer holds the values of a task by cell, for each run, or the reason that there are none.
type answer struct {
	How    string
	Cannot string
	Runs   []map[string]float64
	use    use
}

// do has a tool do a task on the tables of a folder.
func (t tool) do(ctx context.Context, environments, task, folder string, g guarantee, runs int) (a answer, err error) {
	python, err := t.python(ctx, environments)
	if err != nil {
		return answer{Cannot: err.Error()}, nil // a package that refuses to install is a finding
	}
	text, u, err := timed(ctx, python, filepath.Join(environments, "scripts", t.script), task, g.epsilon, g.delta, folder, strconv.Itoa(runs))
	if err != nil {
		return answer{Cannot: err.Error()}, ctx.Err()
	}
	if err := json.Unmarshal(text, &a); err != nil {
		return a, fmt.Errorf("%s, %s: %w", t.name, task, err)
	}
	a.use = u
	return a, nil
}

// unpack writes the scripts where the environments are.
func unpack(folder string) error {
	names, err := scripts.ReadDir("scripts")
	if err = errors.Join(err, os.MkdirAll(filepath.Join(folder, "scripts"), 0o700)); err != nil {
		return err
	}
	for _, n := range names {
		text, err := scripts.ReadFile("scripts/" + n.Name())
		if err = errors.Join(err, os.WriteFile(filepath.Join(folder, "scripts", n.Name()), text, 0o600)); err != nil {
			return err
		}
	}
	return nil
}
