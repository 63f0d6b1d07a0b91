package main

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// Every figure agrees with R to six digits, or a rule says why not; every rule is needed.
func TestAgreesWithR(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "dprelease")
	build := exec.Command("go", "build", "-C", "../..", "-o", filepath.Dir(bin)+"/",
		"./cmd/dprelease", "./cmd/dprelease-mechanisms")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines, err := compare(bin, "data")
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != 7*18-2*6 {
		t.Errorf("%d values are compared", len(lines))
	}
	needed := map[int]bool{}
	for _, l := range lines {
		for _, what := range []string{"estimate", "error", "interval"} {
			if !l.differs(what) {
				continue
			}
			at := l.because(what)
			if needed[at] = true; at < 0 {
				t.Errorf("%s, %s %s: the %s differs: R %+v, here %+v", l.design, l.statistic, l.cell, what, l.r, l.ours)
			}
		}
		if l.statistic != "variance" && l.ours.Error < l.r.Error*(1-near) && l.design != "apiclus2" {
			t.Errorf("%s, %s %s: a standard error of %g, R says %g", l.design, l.statistic, l.cell, l.ours.Error, l.r.Error)
		}
	}
	for i, r := range rules {
		if !needed[i] {
			t.Errorf("nothing differs for this reason: %s", r.why)
		}
	}
}
