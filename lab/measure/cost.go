package measure

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

// Cost is the time that something took, in milliseconds.
type Cost struct {
	Wall float64
	Work float64 // processor time, which changes less than Wall on a busy machine
	Peak int64   // the most memory of a process, in kilobytes, if it is known
}

// Processor returns the processor time of this process so far, in milliseconds.
func Processor() float64 {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e6
}

// Run runs a command to its end, and returns what its processes cost.
func Run(cmd *exec.Cmd) (Cost, error) {
	start := time.Now()
	out, err := cmd.CombinedOutput()
	wall := time.Since(start)
	if err != nil {
		return Cost{}, fmt.Errorf("%w: %s", err, out)
	}
	state := cmd.ProcessState
	return Cost{wall.Seconds() * 1e3, (state.UserTime() + state.SystemTime()).Seconds() * 1e3, state.SysUsage().(*syscall.Rusage).Maxrss}, nil
}

// DuckDB runs a script of the folder bench with Node.js, decodes the line that it prints, and returns its processor time in
// milliseconds.
func DuckDB(answer any, script string, args ...string) (work float64, err error) {
	cmd := exec.Command("node", append([]string{script}, args...)...)
	cmd.Dir, cmd.Stderr = "lab", os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("node lab/%s (run npm install --no-save in lab/ first): %w", script, err)
	}
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds() * 1e3, json.Unmarshal(out, answer)
}

// Median returns the middle one of some numbers, the larger of two.
func Median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}
