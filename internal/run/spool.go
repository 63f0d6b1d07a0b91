package run

import (
	"errors"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/rows/units"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// spool keeps the rows of a release by cell, for a mechanism that is run on each cell by itself. It stands in for the
// mechanism while the sample is read.
type spool struct {
	*units.Rows
	weighted bool // the last column holds weights
}

func newSpool(cells int, memory int64) *spool { return &spool{Rows: units.NewRows(cells, memory, "")} }

// Write is not used: rows come by add.
func (s *spool) Write(sdk.Batch) error {
	return errors.New("rows of a release by group come with their group")
}

// add keeps the rows that are in a cell.
func (s *spool) add(codes []int32, columns []sdk.Values, weights []float64) error {
	all := make([]table.Values, 0, len(columns)+1)
	for _, v := range columns {
		all = append(all, table.Values{Codes: v.Codes, Float64: v.Float64, Valid: v.Valid})
	}
	if s.weighted = weights != nil; s.weighted {
		all = append(all, table.Values{Float64: weights})
	}
	for i, code := range codes {
		if code >= 0 {
			if err := s.Add(int(code), i, all); err != nil {
				return err
			}
		}
	}
	return nil
}

// spoolRows bounds the rows of a cell that are handed over at once.
const spoolRows = 1 << 16

// feed hands the rows of one cell to a mechanism, in their order.
func (s *spool) feed(cell int, w host.RowWriter) error {
	return s.Each(cell, spoolRows, func(all []table.Values, rows int) error {
		b := sdk.Batch{Rows: rows}
		if s.weighted {
			b.Weights, all = all[len(all)-1].Float64, all[:len(all)-1]
		}
		for _, v := range all {
			if v.Codes != nil {
				v.Valid = nil
			}
			b.Columns = append(b.Columns, sdk.Values{Codes: v.Codes, Float64: v.Float64, Valid: v.Valid})
		}
		return w.Write(b)
	})
}
