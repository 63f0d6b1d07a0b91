package units

import (
	"maps"
	"slices"
)

// UnitFacts describe how many rows the units of a table have. They are private (P19), and only for `check --data`.
type UnitFacts struct {
	Rows     int64          `json:"rows"`
	NullRows int64          `json:"rows_without_unit"`
	Units    int64          `json:"units"`
	Mean     float64        `json:"mean_rows"` // of a unit
	Share    []UnitQuantile `json:"quantiles"`
	Largest  int64          `json:"largest"` // the most rows of a unit

	counts map[int64]int64 // how many units have so many rows
}

// UnitQuantile is the smallest number of rows that a share of the units, or more, does not exceed.
type UnitQuantile struct {
	Share float64 `json:"share"`
	Rows  int64   `json:"rows"`
}

// shares are those of the quantiles.
var shares = []float64{0.25, 0.5, 0.75, 0.9, 0.99, 0.999}

// Facts describes the units of a finished index, or of a part of it. With DropNulls it counts the rows without a unit apart.
func (x *Index) Facts() (UnitFacts, error) {
	f := UnitFacts{Rows: x.Rows(), NullRows: x.NullRows(), counts: map[int64]int64{}}
	numbers := make([]int32, min(chunkRows, f.Rows))
	room := max(1<<16, x.spec.Memory/16) // as many units are counted in one pass over the rows
	for from := int64(0); from < x.Units(); from += room {
		rows := make([]int64, min(room, x.Units()-from))
		for first := int64(0); first < f.Rows; first += chunkRows {
			some := numbers[:min(int64(len(numbers)), f.Rows-first)]
			if err := x.Numbers(first, some); err != nil {
				return f, err
			}
			for _, n := range some {
				if at := int64(n) - from; at >= 0 && at < int64(len(rows)) {
					rows[at]++
				}
			}
		}
		for _, n := range rows {
			if n > 0 { // else the unit has its rows in other tables
				f.Units++
				f.counts[n]++
			}
		}
	}
	f.quantiles()
	return f, nil
}

func (f *UnitFacts) quantiles() {
	if f.Units == 0 {
		return
	}
	sizes := slices.Sorted(maps.Keys(f.counts))
	units, all := int64(0), int64(0)
	for _, n := range sizes {
		units += f.counts[n]
		all += n * f.counts[n]
		for len(f.Share) < len(shares) && float64(units) >= shares[len(f.Share)]*float64(f.Units) {
			f.Share = append(f.Share, UnitQuantile{shares[len(f.Share)], n})
		}
	}
	f.Largest, f.Mean = sizes[len(sizes)-1], float64(all)/float64(f.Units)
}
