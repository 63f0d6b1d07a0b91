package language_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
)

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// base is a job without a problem, for tests that change it in one place.
const base = `version: 1
job: demo
dataset:
  id: people
  source: {path: people.parquet}
  relation: replace-one
  size: 1000
  columns:
    age: {lower: 0, upper: 120}
budget:
  limit: {epsilon: 3, delta: 1e-6}
samples:
  srs: {method: srswor, size: 100}
releases:
  - {name: mean_age, from: srs, mechanism: mean, params: {column: age}, guarantee: {epsilon: "0.5"}}
output: {dir: out}
`

func mustParse(t *testing.T, file, text string, env map[string]string) *job.Job {
	t.Helper()
	j, err := language.Parse(file, []byte(text), language.Options{Mechanisms: builtins,
		Getenv: func(n string) (string, bool) { s, ok := env[n]; return s, ok }})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// cpuTime is the processor time of this process so far: what a test takes does
// not depend on what else the machine does.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
