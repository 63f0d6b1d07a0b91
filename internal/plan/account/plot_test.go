package account

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/expr"
)

const sampledLaplace = `{relation: replace-one, event: {without_replacement: {n: 100, N: 1000, event: {laplace: {scale: 1}}}}, query: {delta: 1e-6, methods: [basic, rdp]}}`

func TestPlotSVG(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.svg")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, errs := run("", Options{Expr: sampledLaplace, Plot: path})
	if code != 0 || out == "" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	svg, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dec := xml.NewDecoder(bytes.NewReader(svg))
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
	}
	for _, label := range []string{"basic, amplified", "basic, unamplified", "rdp, amplified", "rdp, unamplified", "charged (0.", "without_replacement(100 of 1000, laplace(scale=1)), replace-one", ">ε<", ">δ<", ">1e-6<"} {
		if !strings.Contains(string(svg), label) {
			t.Errorf("the plot does not say %q", label)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("more than the plot was left behind: %v", left)
	}
}

// TestPlotOfEverything draws one of each kind, with nothing to divide by, with
// δ = 0, and with nothing certified.
func TestPlotOfEverything(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"pure":      `{relation: add-remove, event: {pure: {eps: 1}}, query: {delta: 0, methods: [basic, rdp]}}`,
		"zero":      `{relation: add-remove, event: {pure: {eps: 0}}, query: {delta: 0, methods: [basic]}}`,
		"epsilon":   `{relation: add-remove, event: {poisson: {rate: 0.1, event: {gaussian: {sigma: 2}}}}, query: {epsilon: 0.5, methods: [basic, rdp]}}`,
		"calibrate": `{relation: add-remove, event: {poisson: {rate: 0.1, event: {gaussian: {}}}}, query: {calibrate: sigma, epsilon: 0.5, delta: 1e-6, methods: [basic, rdp]}}`,
		"unbounded": `{relation: add-remove, event: {approx: {eps: 1, delta: 1e-5}}, query: {delta: 1e-6, methods: [basic, rdp]}}`,
		"shuffled":  `{relation: replace-one, event: {shuffled: {n: 1000, event: {pure: {eps: 2}}}}, query: {delta: 1e-6}}`,
		"large":     `{relation: add-remove, event: {repeat: {n: 1e9, event: {pure: {eps: 100}}}}, query: {delta: 1e-6, methods: [basic, rdp]}}`,
		"tiny":      `{relation: add-remove, event: {gaussian: {sigma: 1e9}}, query: {delta: 1e-15, methods: [basic, rdp]}}`,
		"tiny rate": `{relation: add-remove, event: {poisson: {rate: 1e-12, event: {gaussian: {sigma: 1}}}}, query: {delta: 1e-6, methods: [basic, rdp]}}`,
	} {
		path := filepath.Join(dir, name+".svg")
		if code, _, errs := run("", Options{Expr: text, Plot: path}); code != 0 {
			t.Errorf("%s: exit %d: %s", name, code, errs)
			continue
		}
		if svg, err := os.ReadFile(path); err != nil || bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
			t.Errorf("%s: %v or a coordinate that is no number", name, err)
		}
	}
}

// TestCurvesNeverRise also holds the amplified curve below the other.
func TestCurvesNeverRise(t *testing.T) {
	q, problems := expr.ParseQuery([]byte(sampledLaplace), "")
	if problems != nil {
		t.Fatal(problems)
	}
	a, err := answerQuery(q)
	if err != nil {
		t.Fatal(err)
	}
	curves, x, err := trace(q, a)
	if err != nil || len(curves) != 4 {
		t.Fatalf("%d curves, %v", len(curves), err)
	}
	for _, c := range curves {
		if len(c.eps) < 10 || c.del[len(c.del)-1] > x.floor {
			t.Errorf("%s: %d points, ends at %v", c.method, len(c.eps), c.del[len(c.del)-1])
		}
		for i := 1; i < len(c.del); i++ {
			if !(c.del[i] <= c.del[i-1]) || !(c.eps[i] > c.eps[i-1]) || c.del[i] < 0 || c.del[i] > 1 {
				t.Errorf("%s: (%v, %v) after (%v, %v)", c.method, c.eps[i], c.del[i], c.eps[i-1], c.del[i-1])
			}
		}
	}
	if curves[0].method != curves[2].method || curves[0].eps[0] != curves[2].eps[0] || !(curves[0].del[0] < curves[2].del[0]) {
		t.Error("sampling does not show")
	}
}

func TestWithoutSampling(t *testing.T) {
	g := privacy.Gaussian{Sigma: 1}
	for _, c := range []struct {
		e, want privacy.Event
		changed bool
	}{
		{g, g, false},
		{privacy.Repeat{N: 3, Event: g}, privacy.Repeat{N: 3, Event: g}, false},
		{privacy.Repeat{N: 3, Event: privacy.Poisson{Rate: 0.1, Event: g}}, privacy.Repeat{N: 3, Event: g}, true},
		{privacy.Multistage{Event: privacy.WithReplacement{Event: g}}, g, true},
		{privacy.Compose{Events: []privacy.Event{g, privacy.WithoutReplacement{Event: g}}}, privacy.Compose{Events: []privacy.Event{g, g}}, true},
		{privacy.Shuffled{N: 10, Event: privacy.Pure{Eps: 1}}, privacy.Pure{Eps: 1}, true},
	} {
		if got, changed := privacy.WithoutSampling(c.e); !reflect.DeepEqual(got, c.want) || changed != c.changed {
			t.Errorf("%v: got %v %v", c.e, got, changed)
		}
	}
}

// TestPlotThatCannotBeWritten leaves the old file and nothing else.
func TestPlotThatCannotBeWritten(t *testing.T) {
	tier.Full(t, "TestPlotSVG")
	dir := t.TempDir()
	path := filepath.Join(dir, "out.svg")
	if err := os.Mkdir(path, 0o755); err != nil { // rename onto a folder fails
		t.Fatal(err)
	}
	code, out, errs := run("", Options{Expr: sampledLaplace, Plot: path})
	if code != ExitFailed || out != "" || !strings.Contains(errs, "the plot cannot be drawn") {
		t.Errorf("exit %d, %q, %s", code, out, errs)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
