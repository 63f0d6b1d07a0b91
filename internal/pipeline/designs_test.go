package pipeline_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/report"
)

// design replaces the samples and releases of the schools job.
func design(t *testing.T, samples, releases string, replace ...string) string {
	t.Helper()
	text := schoolsJob[:strings.Index(schoolsJob, "samples:")] + samples + "releases:\n" + releases + "output: {dir: out, formats: [csv]}\n"
	return write(t, text, replace...)
}

const oneRelease = `  - {name: m, from: s, mechanism: mean, params: {column: api00}, guarantee: {epsilon: "1"}}` + "\n"

// Every design draws, releases something near the truth, and charges no more
// than the target. The tolerances are more than ten standard deviations of noise
// and sampling.
func TestDesigns(t *testing.T) {
	frame := example(t, "schools-frame.csv")
	withFrame := []string{"  columns:", "  frame: {path: " + frame + ", records: schools}\n  columns:"}
	strata := filepath.Join(t.TempDir(), "strata.csv")
	if err := os.WriteFile(strata, []byte("school_type,n\nE,4421\nM,1018\nH,755\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, sample string
		replace      []string
		within       float64
	}{
		{"poisson", "samples: {s: {method: poisson, rate: 0.25}}\n", nil, 60},
		{"srswor", "samples: {s: {method: srswor, size: 1500}}\n", nil, 60},
		{"multistage", "samples:\n  s:\n    method: multistage\n    stages: [{unit: county, take: all}, {unit: district, take: 40, if_fewer: all}, {take: 200, if_fewer: all}]\n", withFrame, 60},
		{"stratified", "samples: {s: {method: stratified, strata: school_type, take: {E: 400, M: 300, H: all}}}\n",
			[]string{"  columns:", "  frame: {path: " + strata + ", records: n}\n  columns:"}, 150},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := design(t, c.sample, oneRelease, c.replace...)
			o, err := run(t, path)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "mean", estimates(t, filepath.Join(o.Dir, "m.csv"), "estimate")[0], 664.7126, c.within)
			if g := o.Report.Guarantee; g.Epsilon > 1 || g.Delta != 0 || g.Relation != privacy.ReplaceOne {
				t.Errorf("charged %+v", g)
			}
		})
	}
}

// A table that is itself a sample gives a larger budget, for the table and for
// draws from it, and is charged inside one outer amplification.
func TestCollected(t *testing.T) {
	path := design(t, "samples: {s: {method: srswor, size: 1500}}\n",
		oneRelease+`  - {name: all, mechanism: mean, params: {column: api00}, guarantee: {epsilon: "1"}}`+"\n",
		"  unit: row", "  unit: row\n  collected: {method: srswor, population: 61940}")
	j, err := pipeline.Load(path, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pipeline.Plan(background, j, options())
	if err != nil {
		t.Fatal(err)
	}
	r := p.Report()
	if !strings.HasPrefix(r.Guarantee.EventText, "without_replacement(6194 of 61940") {
		t.Errorf("event %s", r.Guarantee.EventText)
	}
	if r.Guarantee.Epsilon > 2 {
		t.Errorf("charged %g", r.Guarantee.Epsilon)
	}
	// log(1 + (e^2 − 1)/0.1) = 4.17: the release from the table may spend half of it.
	near(t, "allowed on the table", r.Releases[1].Sample.Epsilon, 4.174/2, 0.01)
	if r.Releases[0].Sample.Epsilon <= r.Releases[1].Sample.Epsilon {
		t.Error("the draw from the sample allows no more than the sample")
	}
	if _, err := run(t, path); err != nil {
		t.Fatal(err)
	}
}

// A frame that does not match the table is refused before anything is debited.
func TestFrameMustMatch(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ frame, says string }{
		"too few records": {"school_type,n\nE,4421\nM,1018\n", "dataset.size"},
		"no such column":  {"type,n\nE,4421\n", "school_type"},
		"take too large":  {"school_type,n\nE,5400\nM,39\nH,755\n", "39"},
		"wrong counts":    {"school_type,n\nE,4420\nM,1019\nH,755\n", "frame"},
	} {
		t.Run(name, func(t *testing.T) {
			frame := filepath.Join(dir, "f.csv")
			os.WriteFile(frame, []byte(c.frame), 0o644)
			path := design(t, "samples: {s: {method: stratified, strata: school_type, take: {E: 400, M: 300, H: all}}}\n", oneRelease,
				"  columns:", "  frame: {path: "+frame+", records: n}\n  columns:")
			_, err := run(t, path)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("got %v, want %q", err, c.says)
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), "out.record.jsonl")); err == nil {
				t.Error("something was debited")
			}
		})
	}
}

// A plugin that is not the one that was named, or is none, ends with exit code 5
// before anything is read.
func TestWrongPlugin(t *testing.T) {
	self := options().Mechanisms
	for name, c := range map[string]struct{ path, sha, code string }{
		"wrong checksum": {self, strings.Repeat("0", 64), "PLUGIN_CHECKSUM"},
		"no plugin":      {"/bin/true", "SHA", "PLUGIN_START"},
		"no file":        {filepath.Join(t.TempDir(), "nothing"), strings.Repeat("0", 64), "PLUGIN_START"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.sha == "SHA" {
				b, err := os.ReadFile(c.path)
				if err != nil {
					t.Fatal(err)
				}
				c.sha = fmt.Sprintf("%x", sha256.Sum256(b))
			}
			path := write(t, schoolsJob, "samples:\n", "plugins: {mine: {path: "+c.path+", sha256: \""+c.sha+"\"}}\nsamples:\n",
				"{name: all, mechanism: mean", "{name: all, mechanism: mine")
			_, err := run(t, path)
			if exit, code := exitOf(err); exit != failure.ExitPlugin || code != c.code {
				t.Errorf("exit %d, code %s: %v", exit, code, err)
			}
		})
	}
}

// Mechanisms that are not there, or not those that the program knows, end a job before anything is read.
func TestOtherMechanisms(t *testing.T) {
	j, err := pipeline.Load(write(t, schoolsJob), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	as := func(version string) []sdk.Description {
		d := mean.Mechanism{}.Describe()
		d.Version = version
		return []sdk.Description{d}
	}
	mine := mean.Mechanism{}.Describe().Version
	for name, c := range map[string]struct {
		path     string
		builtins []sdk.Description
		code     string
	}{
		"missing":    {filepath.Join(t.TempDir(), "dprelease-mechanisms"), nil, "PLUGIN_PROGRAM"},
		"none":       {"", nil, "PLUGIN_PROGRAM"},
		"another":    {"/bin/true", nil, "PLUGIN_PROGRAM"},
		"changed":    {options().Mechanisms, as(mine + ".1"), "PLUGIN_PROGRAM"},
		"as is said": {options().Mechanisms, as(mine), ""},
	} {
		o := options()
		o.Mechanisms, o.Builtins = c.path, c.builtins
		_, err := pipeline.Plan(t.Context(), j, o)
		if _, code := exitOf(err); code != c.code {
			t.Errorf("%s: code %q: %v", name, code, err)
		}
	}
}

// What a neighbour keeps is said wherever a charge rests on it: a column that is
// declared immutable, where groups by it are charged apart, and not where the design
// brings in other units (P11).
func TestImmutableColumnsAreSaid(t *testing.T) {
	releases := `  - {name: m, from: s, mechanism: mean, params: {column: enrolled, by: school_type}, guarantee: {epsilon: "0.5"}}` + "\n"
	for sample, want := range map[string]bool{"poisson, rate: 0.2": true, "srswor, size: 800": false} {
		r := planned(t, design(t, "samples: {s: {method: "+sample+"}}\n", releases, "domain: [E, M, H]}", "domain: [E, M, H], immutable: true}"))
		said := strings.Contains(report.Meaning(r.Guarantee, r.Dataset), "except school_type, which is public")
		if said != want || (len(r.Draws[0].PublicColumns) == 1) != want {
			t.Errorf("%s: %q, %v", sample, report.Meaning(r.Guarantee, r.Dataset), r.Draws[0].PublicColumns)
		}
		r = planned(t, design(t, "samples: {s: {method: "+sample+"}}\n", releases))
		if len(r.Dataset.PublicColumns) > 0 {
			t.Errorf("%s: %v without a declaration", sample, r.Dataset.PublicColumns)
		}
	}
}
