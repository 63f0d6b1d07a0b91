//go:build linux

package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// marker is an argument that a test's processes can be found by, even when they
// have cleared their environment.
func marker() string { return "marker-" + strconv.FormatUint(rand.Uint64(), 36) }

// alive returns the processes that have the marker among their arguments and are
// not just waiting to be reaped.
func alive(t testing.TB, marker string) []int {
	t.Helper()
	var pids []int
	for pid, s := range processes() {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && bytes.Contains(b, []byte(marker)) && s.state != 'Z' {
			pids = append(pids, pid)
		}
	}
	return pids
}

// waitAlive waits until at least n processes have the marker.
func waitAlive(t testing.TB, marker string, n int) []int {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		pids := alive(t, marker)
		if len(pids) >= n {
			return pids
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d processes with the marker, want %d", len(pids), n)
		}
	}
}

// checkGone fails the test if a process, or the private directory, is left.
func checkGone(t testing.TB, marker, base string) {
	t.Helper()
	if pids := alive(t, marker); len(pids) > 0 {
		t.Errorf("processes left: %v", pids)
	}
	if base != "" {
		if _, err := os.Stat(base); !os.IsNotExist(err) {
			t.Errorf("directory left: %s", base)
		}
	}
}

// checkCode fails the test unless err is an Error with this code, whose text is
// the fixed text of that code and nothing else.
func checkCode(t testing.TB, err error, code string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got error %v, want %s", err, code)
	}
	if texts[code] == "" {
		t.Errorf("%s is not one of the fixed codes", code)
	}
	if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, e), strconv.Itoa(secret)) {
		t.Errorf("error holds a cell value")
	}
}

var short = Limits{Start: 400 * time.Millisecond, Plan: 300 * time.Millisecond, Release: 600 * time.Millisecond, Grace: 200 * time.Millisecond}

func TestStartEdges(t *testing.T) {
	tmp, err := os.MkdirTemp("/tmp", "edges-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	t.Setenv("TMPDIR", tmp)
	for mode, code := range map[string]string{
		"exit": CodeStart, "garbage": CodeProtocol, "silent": CodeTimeout, "half-line": CodeTimeout, "flood-first": CodeProtocol,
		"core-version": CodeProtocol, "version": CodeProtocol, "netrpc": CodeProtocol, "certificate": CodeProtocol,
		"abstract": CodeProtocol, "deaf": CodeTimeout, "no-socket": CodeProtocol, "orphan-and-exit": CodeStart,
	} {
		if testing.Short() && code == CodeTimeout {
			continue // TestRawEdges waits, too
		}
		t.Run(mode, func(t *testing.T) {
			m := marker()
			began := time.Now()
			l := Limits{}
			if code == CodeTimeout {
				l = short
			}
			_, err := Start(context.Background(), command(t, mode, m), l)
			checkCode(t, err, code)
			checkGone(t, m, "")
			if d := time.Since(began); d > 50*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) > 0 {
		t.Errorf("directories left: %v", left)
	}
}

// whole runs describe, plan and release, and returns the first error.
func whole(t testing.TB, c Command, l Limits) (base string, err error) {
	t.Helper()
	ctx := context.Background()
	p, err := Start(ctx, c, l)
	if err != nil {
		return "", err
	}
	defer p.Close()
	plan, err := p.Plan(ctx, request())
	if err != nil {
		return p.dir.Path, err
	}
	_, err = p.Release(ctx, releaseOf(request(), plan), rows, &fakeDrawer{})
	return p.dir.Path, err
}

func TestRawEdges(t *testing.T) {
	for mode, code := range map[string]string{
		"other-service":  CodeProtocol,
		"describe-twice": CodeNondeterministic, "describe-name": CodeDescription, "describe-crash": CodeCrash,
		"plan-twice": CodeNondeterministic, "plan-refuse-once": CodeNondeterministic, "plan-empty": CodePlan,
		"plan-unknown-field": CodeProtocol, "plan-nan": CodePlan, "plan-uncallable": CodePlan, "plan-column": CodePlan,
		"plan-rows": CodeOversize, "plan-deep": CodePlan, "plan-large": CodeOversize, "plan-crash": CodeCrash, "plan-hang": CodeTimeout,
		"release-hang": CodeTimeout, "release-stop": CodeTimeout, "release-crash": CodeCrash,
		"early-result": CodeProtocol, "early-result-open": CodeNoiseMismatch,
		"crash-between-rows": CodeCrash, "crash-after-rows": CodeCrash, "stderr-value": CodeCrash,
		"sample-before-rows": CodeNoiseMismatch,
		"nan":                CodeNonfinite, "inf": CodeNonfinite, "lattice": CodeLattice,
		"column-missing": CodeShape, "column-renamed": CodeShape, "column-type": CodeShape, "column-both": CodeShape,
		"row-missing": CodeShape, "row-extra": CodeShape, "ragged": CodeShape, "string-long": CodeShape, "no-result": CodeShape,
		"unknown-field": CodeShape, "message-large": CodeOversize, "huge-endless": CodeOversize,
		"codes": "", "code-of-none": CodeShape, "codes-of-numbers": CodeShape, "codes-huge": CodeOversize,
		"noise-none": CodeNoiseMismatch, "noise-fewer": CodeNoiseMismatch, "noise-more": CodeNoiseMismatch,
		"noise-order": CodeNoiseMismatch, "noise-scale": CodeNoiseMismatch, "noise-sensitivity": CodeNoiseMismatch,
		"noise-method": CodeNoiseMismatch, "noise-event-missing": CodeNoiseMismatch, "noise-sample": CodeNoiseMismatch,
		"noise-unknown-field": CodeNoiseMismatch,
		"noise-retry":         CodeNoiseMismatch, "noise-parallel": CodeNoiseMismatch,
		"broker-flood": CodeProtocol,
		"no-lane":      CodeProtocol,
		"ok":           "", "header-value": "", "unknown-method": "",
	} {
		if early := strings.HasPrefix(mode, "early-result"); testing.Short() && (early || len(mode)%3 != 0) {
			continue // a third of them
		}
		t.Run(mode, func(t *testing.T) {
			l := Limits{Grace: 200 * time.Millisecond}
			switch {
			case code == CodeTimeout:
				l = short
			case mode == "early-result":
				l.Plan = 3 * time.Second // how long it may leave rows unread
			}
			l.ResultBytes = 4 << 20
			m := marker()
			began := time.Now()
			base, err := whole(t, command(t, "raw", mode, m), l)
			if code != "" {
				checkCode(t, err, code)
			} else if err != nil {
				t.Error(err)
			}
			checkGone(t, m, base)
			if d := time.Since(began); d > 50*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

// What a mechanism gets wrong behind the SDK is told apart too.
func TestSDKEdges(t *testing.T) {
	for mode, code := range map[string]string{"sdk-nan": CodeNonfinite, "sdk-shape": CodeShape, "panic": CodeFailed, "failure": CodeFailed} {
		m := marker()
		base, err := whole(t, command(t, mode, m), Limits{})
		checkCode(t, err, code)
		checkGone(t, m, base)
	}
}

// Plugins run side by side without knowing of each other.
func TestSideBySide(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			mode, want := "good", ""
			if i%2 == 1 {
				mode, want = "panic", CodeFailed
			}
			m := marker()
			base, err := whole(t, command(t, mode, m), Limits{SoleParent: true})
			var e *Error
			if want == "" && err != nil || want != "" && (!errors.As(err, &e) || e.Code != want) {
				t.Errorf("%s: %v", mode, err)
			}
			checkGone(t, m, base)
		}()
	}
	wg.Wait()
}
