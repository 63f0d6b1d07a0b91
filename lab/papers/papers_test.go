package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/privacy/amplify"
	"github.com/dprelease/dprelease/privacy/oracles"
)

// Every exhibit that is quick to draw stands on its page as it is drawn now, to the last
// digit and the last point of its figures, and every fact of it agrees but for those that the
// papers got wrong.
func TestPagesAreUpToDate(t *testing.T) {
	refuted := map[string]bool{"points with r ≥ 1, computed exactly": true}
	compared, known := 0, 0
	for file, exhibits := range map[string][]func() (exhibit, error){
		"papers.md": {limitsByRate, limitsByEpsilon, limitsProportional, limitsConstant, limitsError, limitsEpochs, gainsMean, gainsMedian, gainsBudget, gainsSaving,
			gainsFigure5, bimodalDensity, renyi(5), episodicTake, episodicSize, lectureResponse, lectureIteration},
		"open-questions.md": {gaussianMean, manyMeans, multistageCost, additiveGain, randomAllocation},
	} {
		page, err := os.ReadFile(filepath.Join("../studies", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, draw := range exhibits {
			e, err := draw()
			if err != nil {
				t.Fatalf("%s: %v", e.id, err)
			}
			var b strings.Builder
			if e.write(&b); !strings.Contains(string(page), b.String()) {
				t.Errorf("%s does not show %s as it is: run make papers", file, e.id)
			}
			for _, p := range e.figures {
				svg := p.fig.SVG()
				stored, err := os.ReadFile(filepath.Join("../studies/papers", p.name+".svg"))
				if err != nil || !bytes.Equal(stored, svg) {
					t.Errorf("lab/studies/papers/%s.svg is not what is drawn now: %v", p.name, err)
				}
				compared++
			}
			for _, f := range e.facts {
				if f.known {
					known++
				}
				if f.known && f.holds == refuted[f.what] {
					t.Errorf("%s: %s: stated %s, ours %s", e.id, f.what, f.stated, f.ours)
				}
			}
		}
	}
	if compared < 20 || known < 30 {
		t.Errorf("only %d figures and %d stated facts were compared", compared, known)
	}
}

// The pages show every figure of the two papers, and Table 1.
func TestEveryFigureIsShown(t *testing.T) {
	page, err := os.ReadFile("../studies/papers.md")
	if err != nil {
		t.Fatal(err)
	}
	limits, gains, ok := strings.Cut(string(page), "\n## “Accuracy Gains")
	if !ok {
		t.Fatal("a chapter is missing")
	}
	for text, figures := range map[string]int{limits: 4, gains: 13} {
		for n := 1; n <= figures; n++ {
			if strings.Count(text, fmt.Sprintf("\n### Figure %d. ", n)) != 1 {
				t.Errorf("Figure %d is not shown once", n)
			}
		}
	}
	if !strings.Contains(gains, "\n### Table 1. ") {
		t.Error("Table 1 is missing")
	}
	drawn, err := filepath.Glob("../studies/papers/*.svg")
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile("../studies/open-questions.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range drawn {
		if name := "(papers/" + filepath.Base(path) + ")"; !strings.Contains(string(page)+string(other), name) {
			t.Errorf("no page shows %s", path)
		}
	}
}

// A fact that is wrong is marked so.
func TestFactsCanDiffer(t *testing.T) {
	if stated("x", 1, 1.1, 0.05).holds || !stated("x", 1, 1.01, 0.05).holds {
		t.Error("a wrong number agrees")
	}
	var b strings.Builder
	exhibit{facts: []fact{claim("x", "yes", false, "no")}}.write(&b)
	if !strings.Contains(b.String(), "**refuted**") {
		t.Error("a finding that does not hold is not marked")
	}
}

// varianceRatio is r(ε, n/N) of P18 through log1p and expm1.
func varianceRatio(eps, rate float64) float64 {
	x := rate * math.Log1p(math.Expm1(eps)/rate) / eps
	return x * x
}

// The exact gap is positive wherever the plain formula has lost its digits, and is
// the same as the plain one where it has not.
func TestGap(t *testing.T) {
	for _, q := range []float64{0.001, 0.1, 0.5, 0.999} {
		for _, eps := range logs(1e-12, 3, 200) {
			g := gap(eps, q)
			if !(g > 0 && g < 1) {
				t.Errorf("1 − r(%g, %g) = %g", eps, q, g)
			}
			if plain := 1 - varianceRatio(eps, q); eps > 0.1 && math.Abs(plain/g-1) > 1e-6 {
				t.Errorf("ε %g, q %g: %g, want %g", eps, q, g, plain)
			}
		}
	}
	if naiveCrossing(0.1) == 0 {
		t.Error("the plain formula shows no crossing: it was computed too well")
	}
}

// The findings on medians: the bimodal column gains at ε = 1 and loses at 5, the lognormal one
// gains at 0.1 and loses at 3.
func TestMedians(t *testing.T) {
	for _, c := range []struct {
		p     population
		eps   float64
		gains bool
	}{{bimodal, 1, true}, {bimodal, 5, false}, {lognormal, 0.1, true}, {lognormal, 3, false}} {
		sum := 0.0
		for k := range 3 {
			g, err := c.p.gain(c.p.column(k), 0.1, c.eps, func() map[string]any { return calibration("exact") }, 20, uint64(k))
			if err != nil {
				t.Fatal(err)
			}
			sum += math.Log(g)
		}
		if (sum > 0) != c.gains {
			t.Errorf("%s, ε %g: log gain %.3g", c.p.name, c.eps, sum/3)
		}
	}
}

// A sample holds n values of the column, in order, and each as often as the others.
func TestSample(t *testing.T) {
	column := lognormal.column(0)
	r, err := lognormal.runs(column, 101, 1, calibration("exact"), 50, 3)
	if err != nil || len(r.values) != 50 {
		t.Fatal(len(r.values), err)
	}
	mean := 0.0
	for _, v := range r.values {
		mean += v / 50
	}
	if math.Abs(mean/middle(column)-1) > 0.06 {
		t.Errorf("the medians of samples are %.4g on average, the median is %.4g", mean, middle(column))
	}
}

// Our ε lies between the lower bound and what each table of the page allows over it, and no
// farther from it than the best other tool by more than its tolerance.
func TestRatios(t *testing.T) {
	rows, err := oracles.Rows()
	if err != nil {
		t.Fatal(err)
	}
	every := 11
	if testing.Short() {
		every = 60
	}
	for _, g := range grids {
		i, asked, bounded := 0, 0, 0
		for _, r := range rows {
			if r.Table != g.table || r.Expected == nil {
				continue
			}
			if i++; i%every != every/3 {
				continue
			}
			q, err := ask(r, false)
			if err != nil {
				t.Fatal(err)
			}
			asked++
			if q.lower > 0 {
				bounded++
			}
			if q.ours < q.lower*(1-r.TolRel)-r.TolAbs {
				t.Errorf("%s: ε %.8g is below the lower bound %.8g", r.ID, q.ours, q.lower)
			}
			if q.lower > 0.002 && q.ratio() > g.worst {
				t.Errorf("%s: %.4f over the lower bound, %g is allowed: %s", r.ID, q.ratio(), g.worst, q.what)
			}
			if q.name != "" && q.ours > q.rival*1.01+1e-4 {
				t.Errorf("%s: ε %.6g, %s charges %.6g", r.ID, q.ours, q.name, q.rival)
			}
		}
		if asked == 0 && !testing.Short() || bounded == 0 && g.table != "t7" && asked > 0 {
			t.Errorf("%s: %d rows were asked, %d have a lower bound", g.table, asked, bounded)
		}
	}
	for _, draw := range []func() (exhibit, error){rivalsMultistage, rivalsIteration} {
		e, err := draw()
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range e.questions {
			if q.lower > 0 && !(q.ratio() >= 1-1e-9 && q.ratio() <= goal) {
				t.Errorf("%s: %g, lower bound %g", q.what, q.ours, q.lower)
			}
		}
	}
}

// The lower bounds of the page are none where a claim is wrong: Theorem 3 lies below what a
// pair of neighbours attains, and the shuffled bound above.
func TestLowerBounds(t *testing.T) {
	d := amplify.Design{{Take: 1, Of: 2}, {Take: 19, Of: 20}}
	if low := multistageLower(d, 1); low <= d.PublishedEpsilon(1) || low > d.Pure(1, false) {
		t.Errorf("lower bound %g, Theorem 3 %g, ours %g", low, d.PublishedEpsilon(1), d.Pure(1, false))
	}
	// The exact figure of table t7b for k = 3 and 20 users.
	if low := responseLower(20, 2, 1e-4); low < 1.766 || low > 2 {
		t.Errorf("20 users, ε0 = 2: %g", low)
	}
}
