package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/pipeline"
)

// longWords is a line of the story's plan that is too long for every terminal.
var longWords = words("verdict    " + strings.TrimSpace(strings.Repeat("noise and sampling ", 12)))

// told is a story with a long answer.
type told struct{ story }

func (told) plan(context.Context, *job.Job, pipeline.Options) (command.Answer, error) {
	return longWords, nil
}

// laid runs a command line with a value of COLUMNS, "" for none, and gives its output.
func laid(columns string, j jobs, args ...string) (out, errw string) {
	var o, e bytes.Buffer
	env := &environment{Environment: &command.Environment{In: strings.NewReader(""), Out: &o, Errw: &e, Self: "/self",
		Getenv: func(name string) (string, bool) { return columns, name == "COLUMNS" && columns != "" }}, jobs: j}
	env.execute(context.Background(), args)
	return o.String(), e.String()
}

// longest is the width of the longest line.
func longest(text string) int {
	most := 0
	for line := range strings.Lines(text) {
		most = max(most, len([]rune(strings.TrimRight(line, "\r\n"))))
	}
	return most
}

// Without a terminal lines stay as they are, unless COLUMNS says otherwise; what
// programs read stays as it is with COLUMNS, too.
func TestLinesOfPipes(t *testing.T) {
	for _, columns := range []string{"", "0", "-5", "wide"} {
		if out, _ := laid(columns, &told{}, "plan", "j.yaml"); out != string(longWords)+"\n" {
			t.Errorf("COLUMNS=%q: %q", columns, out)
		}
	}
	for columns, most := range map[string]int{"1": 40, "60": 60, "80": 80, "100": 100, "1000": 100} {
		out, _ := laid(columns, &told{}, "plan", "j.yaml")
		if n := longest(out); n > most || n < most-10 || strings.Join(strings.Fields(out), " ") != strings.Join(strings.Fields(string(longWords)), " ") {
			t.Errorf("COLUMNS=%s: %q", columns, out)
		}
		if out, _ := laid(columns, &told{}, "plan", "--json", "j.yaml"); strings.Count(out, "\n") != 1 {
			t.Errorf("COLUMNS=%s: %q", columns, out)
		}
		for _, args := range [][]string{{"schema"}, {"completion", "bash"}, {"version", "--json"}} {
			as, _ := laid(columns, &told{}, args...)
			if want, _ := laid("", &told{}, args...); as != want || want == "" {
				t.Errorf("COLUMNS=%s changes %s", columns, args[0])
			}
		}
	}
}

// beforeLast says that a failure printed this above its last line, which stays whole.
func beforeLast(errw, want string) bool {
	said, _, ok := cutLast(errw)
	return ok && said == want
}

// Problems keep one line each where nobody sees them, and hang where they are seen.
func TestLinesOfProblems(t *testing.T) {
	p := job.Problem{Pos: job.Pos{File: "j.yaml", Line: 3, Column: 7}, Step: language.StepCheck, Path: "samples.srs.size",
		Message: "must be at most dataset.size (8000 > 6194)", Hint: "make it smaller"}
	s := &story{loadErr: job.Problems{p, p}}
	if _, errw := laid("", s, "check", "j.yaml"); !beforeLast(errw, p.Error()+"\n"+p.Error()+"\n") {
		t.Errorf("%q", errw)
	}
	one := "j.yaml:3:7: samples.srs.size: must be at most dataset.size\n  (8000 > 6194) (make it smaller)\n"
	if _, errw := laid("60", s, "check", "j.yaml"); !beforeLast(errw, one+one) {
		t.Errorf("%q", errw)
	}
	if _, errw := laid("40", s, "frobnicate-and-more-of-it"); !beforeLast(errw, "dprelease: unknown command\n  \"frobnicate-and-more-of-it\"\nsee dprelease --help\n") {
		t.Errorf("%q", errw)
	}
}

// Help fits the terminal, but for what is there to be copied.
func TestLinesOfHelp(t *testing.T) {
	as, _ := laid("", &told{}, "plan", "--help")
	for _, columns := range []int{40, 60, 80, 100} {
		out, _ := laid(strconv.Itoa(columns), &told{}, "plan", "--help")
		if strings.Join(strings.Fields(out), " ") != strings.Join(strings.Fields(as), " ") {
			t.Errorf("%d columns: other words: %s", columns, out)
		}
		for line := range strings.Lines(out) {
			if n := longest(line); n > columns && !strings.HasPrefix(line, "  dprelease ") && !strings.HasPrefix(line, "      --") {
				t.Errorf("%d columns: %q", columns, line)
			}
		}
	}
	about, _, _ := strings.Cut(as, "\nUsage:")
	if out, _ := laid("80", &told{}, "plan", "--help"); !strings.Contains(out, "\n  dprelease plan job.yaml --solve 'moe<1%' --over n\n") || strings.HasPrefix(out, about) || longest(out) > 80 {
		t.Errorf("%s", out)
	}
}

// On a terminal its own width counts, for standard output and error apart.
func TestLinesOfTerminals(t *testing.T) {
	for width, most := range map[int]int{0: 80, 30: 40, 72: 72, 200: 100} {
		screen, terminal := pseudoTerminal(t, width)
		env := &environment{Environment: &command.Environment{In: strings.NewReader(""), Out: terminal, Errw: io.Discard, Self: "/self", Getenv: nothingSet}, jobs: &told{}}
		if exit := env.execute(context.Background(), []string{"plan", "j.yaml"}); exit != command.ExitDone {
			t.Fatal(exit)
		}
		buf := make([]byte, 4096)
		n, err := screen.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		if got := longest(string(buf[:n])); got > most || got < most-10 {
			t.Errorf("a terminal of %d: %d columns: %q", width, got, buf[:n])
		}
	}
}

// pseudoTerminal is a terminal of a width, and the side on which it is seen.
func pseudoTerminal(t *testing.T, columns int) (screen, terminal *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminal.Close() })
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)}); err != nil {
		t.Fatal(err)
	}
	return screen, terminal
}
