package insecureshelf

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/marginals/residual"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// margin is a table of one column as marginals measures it: the total, and the contrasts of
// the counts.
type margin struct {
	name string
	// uncentred adds the noise to the counts, times their number, and centres them later.
	uncentred bool
	// forgotten leaves the total out of the charge.
	forgotten bool
}

func (m margin) Describe() sdk.Description {
	return sdk.Description{
		Name: m.name, Version: "0.0.1", Summary: "broken on purpose", Params: json.RawMessage(schema),
		Relations: []privacy.Relation{privacy.AddRemove}, Designs: []string{"full", "poisson"}, Linear: true,
	}
}

func (m margin) form(req sdk.PlanRequest) (*linear.Form, error) {
	var p struct {
		Column string `json:"column"`
	}
	if err := sdk.DecodeParams(req.Params, &p); err != nil {
		return nil, err
	}
	c, ok := req.Public.Column(p.Column)
	if !ok || c.Type != sdk.Category || req.Target.Delta == 0 {
		return nil, fmt.Errorf("column: %q must be a declared category, and the guarantee needs a delta", p.Column)
	}
	n := len(c.Domain)
	table := residual.Table{{Attribute: 0, Level: 1}}
	w := residual.NewWorkload([]residual.Attribute{residual.Flat(n)}, []residual.Table{nil, table}, false)
	square, side := w.Norms(1)
	if !m.forgotten {
		square.Add(square, big.NewInt(1))
	}
	norms := sdk.Norms{L1: side.Add(side, big.NewInt(1)), Square: square}
	counts := make([]int64, n)
	q := linear.Query{
		Values: []sdk.Column{c}, Reach: sdk.Reach{Parts: 1 + n, Touch: 1 + n, Arrive: norms, Replace: norms},
		Add: func(b linear.Block, _ []int64) {
			for i, code := range b.Columns[0].Codes {
				if b.Cell(i) >= 0 {
					counts[code]++
				}
			}
		},
		Done: func(sums []int64) {
			for _, k := range counts {
				sums[0] += k
			}
			if copy(sums[1:], counts); !m.uncentred {
				w.Contrast(table, sums[1:])
				return
			}
			for i := range counts {
				sums[1+i] *= int64(n)
			}
		},
	}
	return &linear.Form{
		Cells: linear.Cells{N: 1}, Noise: linear.Gaussian, Queries: []linear.Query{q}, Output: []sdk.Field{{Name: "estimate", Type: sdk.Float64}},
		Errors: func([]linear.Noise) []sdk.ExpectedError { return nil },
		Finish: func(sums [][]int64, _ []linear.Noise) []sdk.ResultColumn {
			return []sdk.ResultColumn{{Name: "estimate", Float64: []float64{float64(sums[0][0])}}}
		},
	}, nil
}

func (m margin) Plan(req sdk.PlanRequest) (sdk.Plan, error) { return linear.Plan(req, m.form) }

func (m margin) Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error) {
	return linear.Release(ctx, req, rows, host, m.form)
}

// SoundMargin is the table as it should be.
func SoundMargin() sdk.Mechanism { return margin{name: "marginals-sound"} }

// margins are the mistakes that tables of residuals invite.
func margins() []Specimen {
	return []Specimen{
		{Name: "marginals-centred-noise", Caught: "l2-sensitivity",
			Story:     "adds noise to counts, centres them later, and charges what centred counts cost",
			Mechanism: margin{name: "marginals-centred-noise", uncentred: true}},
		{Name: "marginals-residual-left-out", Caught: "l2-sensitivity", Story: "leaves one residual out of the charge",
			Mechanism: margin{name: "marginals-residual-left-out", forgotten: true}},
	}
}
