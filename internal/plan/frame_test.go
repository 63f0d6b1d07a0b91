package plan

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/planned"
)

// Clusters of unequal size are planned as they are: no draw of other sizes, nothing gained in privacy, weights of the population.
func TestUnevenClustersArePlanned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "frame.csv")
	if err := os.WriteFile(path, []byte("d,n\na,1\nb,3\nc,5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := func(size int, last string) []byte {
		return fmt.Appendf(nil, `{version: 1, job: j, dataset: {id: j, source: {path: t.csv}, relation: replace-one, size: %d, unit: row, frame: {path: %q, records: n},
  collected: {method: multistage, allocation: equal, stages: [{unit: d, take: 2}, {%s}]}, columns: {x: {lower: 0, upper: 1}}}, budget: {limit: {epsilon: 1}},
  releases: [{name: r, mechanism: mean, params: {column: x}, guarantee: {epsilon: "0.1"}}], output: {dir: out}}`, size, path, last)
	}
	for _, c := range []struct {
		size            int
		last            string
		amplifies, fits bool
	}{
		{4, "take: all", false, true}, {8, "take: all", false, true}, {9, "take: all", false, false}, {3, "take: all", false, false},
		{6, "take: 3, if_fewer: all", false, true}, {2, "take: 1", true, true}, {3, "take: 1", true, false},
	} {
		j, err := language.Parse("job.yaml", text(c.size, c.last), language.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := CollectionOf(j)
		if (err == nil) != c.fits || c.fits && (got != nil) != c.amplifies {
			t.Errorf("%d rows, %s: %v, %v", c.size, c.last, got, err)
		}
		if !c.fits {
			continue
		}
		d, err := planned.Design(j, job.All, nil)
		if f := d.Facts(); err != nil || f.Population != 9 || (f.SampleSize > 0) != c.amplifies || f.LargestCount != int64(c.size) {
			t.Errorf("%d rows, %s: %+v, %v", c.size, c.last, f, err)
		}
	}
}
