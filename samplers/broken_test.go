package samplers

import (
	"fmt"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/combin"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/noise/insecurenoise"
	"github.com/dprelease/dprelease/internal/noise/noisetest"
)

// recorder takes the place of a test, to see whether a check would fail it.
type recorder struct{ failures []string }

func (*recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

// Samplers with one mistake each, of the kind that is made in practice. The
// checks of this package must catch every one, by walking through its choices and
// by drawing from it.
var broken = map[string]func(src *noise.Source, size, rows int64) []int64{
	"drops the largest after sorting": func(src *noise.Source, size, rows int64) []int64 {
		var list []int64
		for int64(len(list)) < size {
			for range size {
				list = append(list, int64(src.Uint64n(uint64(rows))))
			}
			slices.Sort(list)
			list = slices.Compact(list)
		}
		return list[:size]
	},
	"resolves duplicates by the next row": func(src *noise.Source, size, rows int64) []int64 {
		var list []int64
		for range size {
			r := int64(src.Uint64n(uint64(rows)))
			for slices.Contains(list, r) {
				r = (r + 1) % rows
			}
			list = append(list, r)
		}
		return list
	},
	"favours every other row": func(src *noise.Source, size, rows int64) []int64 {
		var list []int64
		for i := range rows {
			if need, left := size-int64(len(list)), rows-i; need >= left || need > 0 && src.Uint64n(uint64(left)) < uint64(need)-uint64(i&1)*uint64(need/2) {
				list = append(list, i)
			}
		}
		return list
	},
	"systematic": func(src *noise.Source, size, rows int64) []int64 {
		start := int64(src.Uint64n(uint64(rows)))
		var list []int64
		for i := range size {
			list = append(list, (start+i*rows/size)%rows)
		}
		return list
	},
	"floyd without the exchange": func(src *noise.Source, size, rows int64) []int64 {
		var list []int64
		for j := rows - size; j < rows; j++ {
			r := int64(src.Uint64n(uint64(j + 1)))
			if slices.Contains(list, r) {
				r = (r + 1) % (j + 1)
				for slices.Contains(list, r) {
					r = (r + 1) % (j + 1)
				}
			}
			list = append(list, r)
		}
		return list
	},
}

func TestBrokenSamplersAreCaught(t *testing.T) {
	const size, rows = 3, 6
	subsets := combin.Binomial(rows, size)
	src := newSource(t)
	for name, sample := range broken {
		asMask := func(list []int64) (m int64) {
			for _, r := range list {
				m |= 1 << r
			}
			return m
		}
		var seen recorder
		mass, rest := noisetest.Explore(1e-6, func(choose func(uint64) uint64) int64 {
			return asMask(sample(insecurenoise.NewScript(choose), size, rows))
		})
		noisetest.CheckExplored(&seen, name, mass, rest, 1, func(int64) float64 { return 1 / float64(subsets) })
		if len(seen.failures) == 0 {
			t.Errorf("%s: walking through all choices finds nothing", name)
		}
		const n = 50_000
		counts := map[int64]int{}
		for range n {
			counts[asMask(sample(src, size, rows))]++
		}
		seen.failures = nil
		var cells []int
		var probs []float64
		for _, c := range combin.Combinations(rows, size) {
			cells = append(cells, counts[mask(c)])
			probs = append(probs, 1/float64(subsets))
		}
		noisetest.CheckCells(&seen, name, n, cells, probs)
		if len(seen.failures) == 0 {
			t.Errorf("%s: drawing from it finds nothing", name)
		}
	}
}
