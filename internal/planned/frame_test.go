package planned

import (
	"math/big"
	"os"
	"path/filepath"
	"testing"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// Rates are in proportion to public sizes, none is above the largest, and that one is charged.
func TestRatesBySize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "frame.csv")
	if err := os.WriteFile(path, []byte("firm,employees\na,100\nb,300\nc,600\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	j := &job.Job{Dataset: job.Dataset{Frame: &job.Frame{Path: path, Records: "employees"}}}
	s := job.Sample{Method: job.Stratified, Strata: "firm", BySize: &job.BySize{Expected: big.NewRat(1, 1), Most: big.NewRat(1, 2)}}
	d, err := newFramed(j, s)
	if err != nil {
		t.Fatal(err)
	}
	rates := d.(*samplers.StratifiedPoisson)
	for firm, want := range map[string]float64{"a": 0.1, "b": 0.3, "c": 0.5} {
		// Rounded down to a public step, so that no rate is above what is charged.
		if w := rates.Weight(rates.Frame().UnitOf(firm)); w < 1/want || w > 1/want+1e-7 {
			t.Errorf("%s weighs %.12g, want %.12g", firm, w, 1/want)
		}
	}
	inner := privacy.Pure{Eps: 1}
	if got := d.Event(inner); got != (privacy.Poisson{Rate: 0.5, Event: inner}) {
		t.Errorf("the event is %v", got)
	}
	if d.Supports(privacy.ReplaceOne) == nil {
		t.Error("replace-one is supported")
	}
}
