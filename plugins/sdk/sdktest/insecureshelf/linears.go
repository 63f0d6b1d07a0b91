package insecureshelf

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/plugins/bounds"
	counts "github.com/dprelease/dprelease/plugins/count"
	"github.com/dprelease/dprelease/plugins/distinct"
	"github.com/dprelease/dprelease/plugins/histogram"
	"github.com/dprelease/dprelease/plugins/marginals"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/proportion"
	"github.com/dprelease/dprelease/plugins/quantiles"
	"github.com/dprelease/dprelease/plugins/ratio"
	"github.com/dprelease/dprelease/plugins/sdk"
	totals "github.com/dprelease/dprelease/plugins/sum"
	"github.com/dprelease/dprelease/plugins/variance"
	"github.com/dprelease/dprelease/privacy"
)

// bent is a sound mechanism with a part exchanged.
type bent struct {
	sdk.Mechanism
	name string
	// public, if given, is what the mechanism takes for public.
	public func(sdk.Public) sdk.Public
	// query, if given, changes a vector on its way to the noise.
	query func([]int64)
	// number, if given, changes the numbers of the rows.
	number func(float64) float64
	// rate, if positive, is by what the rates of selections are multiplied.
	rate float64
	// group, if set, is left out: the last of each column of groups.
	group bool
	// size, if given, tells the sizes of a table at which a query is doubled.
	size func(rows int, public sdk.Public) bool
	// least, if positive, is the least true number that is shown.
	least int64
}

func (m bent) Describe() sdk.Description {
	d := m.Mechanism.Describe()
	d.Name, d.Version, d.Summary = m.name, "0.0.1", "broken on purpose"
	return d
}

func (m bent) seen(p sdk.Public) sdk.Public {
	if m.public != nil {
		return m.public(p)
	}
	return p
}

// left returns how many rows of a result are left without the last group.
func (m bent) left(p sdk.Plan, public sdk.Public) int64 {
	for _, name := range p.Columns {
		if c, _ := public.Column(name); m.group && c.Type == sdk.Category && len(c.Domain) > 1 && p.GroupField(name) >= 0 {
			return p.Rows - p.Rows/int64(len(c.Domain))
		}
	}
	return p.Rows
}

func (m bent) Plan(req sdk.PlanRequest) (sdk.Plan, error) {
	req.Public = m.seen(req.Public)
	p, err := m.Mechanism.Plan(req)
	if err == nil && len(p.Columns) > 0 {
		p.Rows = m.left(p, req.Public)
	}
	return p, err
}

func (m bent) Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error) {
	req.Public = m.seen(req.Public)
	if m.number != nil {
		rows = changed{rows, m.number}
	}
	h := &between{Host: host, query: m.query, rate: m.rate}
	if m.size != nil {
		seen := 0
		rows = counted{rows, &seen}
		h.query = func(v []int64) {
			for i := range v {
				if m.size(seen, req.Public) {
					v[i] *= 2
				}
			}
		}
	}
	out, err := m.Mechanism.Release(ctx, req, rows, h)
	if err != nil {
		return out, err
	}
	for i := range out.Columns {
		c := &out.Columns[i]
		n := min(int(req.Plan.Rows), len(c.Float64)+len(c.Texts))
		if c.Float64 != nil {
			c.Float64 = c.Float64[:n]
		} else {
			c.Texts = c.Texts[:n]
		}
		if c.Name == "estimate" {
			for k := range c.Float64 {
				if m.least > 0 && h.truth[k] < m.least {
					c.Float64[k] = 0
				}
			}
		}
	}
	return out, err
}

// changed are rows whose numbers are changed.
type changed struct {
	rows   sdk.Rows
	number func(float64) float64
}

func (c changed) Next() (*sdk.Batch, error) {
	b, err := c.rows.Next()
	if err != nil {
		return b, err
	}
	out := *b
	out.Columns = nil
	for _, v := range b.Columns {
		if v.Float64 != nil {
			x := make([]float64, len(v.Float64))
			for i, y := range v.Float64 {
				x[i] = c.number(y)
			}
			v.Float64 = x
		}
		out.Columns = append(out.Columns, v)
	}
	return &out, nil
}

// counted are rows that somebody counts.
type counted struct {
	sdk.Rows
	seen *int
}

func (c counted) Next() (*sdk.Batch, error) {
	b, err := c.Rows.Next()
	if err == nil {
		*c.seen += b.Rows
	}
	return b, err
}

// between stands between a mechanism and its host.
type between struct {
	sdk.Host
	query func([]int64)
	rate  float64
	truth []int64
}

func (b *between) Select(ctx context.Context, ev privacy.Selection, pieces []sdk.Piece, rate float64) (int64, error) {
	if b.rate > 0 {
		rate *= b.rate
	}
	return b.Host.Select(ctx, ev, pieces, rate)
}

func (b *between) take(v []int64) {
	b.truth = append([]int64(nil), v...)
	if b.query != nil {
		b.query(v)
	}
}

func (b *between) AddLaplace(ctx context.Context, ev privacy.DiscreteLaplace, v []int64) ([]int64, error) {
	b.take(v)
	return b.Host.AddLaplace(ctx, ev, v)
}

func (b *between) AddGaussian(ctx context.Context, ev privacy.DiscreteGaussian, v []int64) ([]int64, error) {
	b.take(v)
	return b.Host.AddGaussian(ctx, ev, v)
}

// uncapped returns what is public about one row of a unit, whatever the cap says.
func uncapped(p sdk.Public) sdk.Public {
	if p.Cap != nil {
		p.Cap, p.Design.LargestCount = &sdk.Cap{Groups: 1, Rows: 1}, 0
	}
	return p
}

// biased rounds a sum up to a multiple of seven, where each row should have been rounded.
func biased(v []int64) {
	for i, x := range v {
		v[i] = int64(math.Ceil(float64(x)/7)) * 7
	}
}

// tripled has three times the squares that an interval of a single total needs.
func tripled(v []int64) {
	if len(v) == 2 {
		v[1] *= 3
	}
}

// largeTables are mechanisms that are right on small tables.
func largeTables() []Specimen {
	var all []Specimen
	for _, m := range []sdk.Mechanism{totals.Mechanism{}, counts.Mechanism{}, mean.Mechanism{}, marginals.Mechanism{}} {
		for name, size := range map[string]func(int, sdk.Public) bool{
			"beyond-1500":   func(n int, _ sdk.Public) bool { return n > 1500 },
			"at-multiples":  func(n int, _ sdk.Public) bool { return n > 1500 && n%1000 == 0 },
			"beyond-60000":  func(n int, _ sdk.Public) bool { return n > 60_000 },
			"by-hash":       func(n int, _ sdk.Public) bool { return n > 2000 && uint32(n)*2654435761>>29 == 5 },
			"if-size-known": func(n int, p sdk.Public) bool { return n > 60_000 && p.Design.SampleSize > 0 },
		} {
			b := bent{Mechanism: m, name: m.Describe().Name + "-wrong-" + name, size: size}
			all = append(all, Specimen{Name: b.name, Caught: "linear", Story: "counts every row twice in some large tables", Mechanism: b})
		}
	}
	slices.SortFunc(all, func(a, b Specimen) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// linears are the linear mechanisms, each broken in the ways in which one can be.
func linears() []Specimen {
	var all []Specimen
	bend := func(m sdk.Mechanism, fault, caught, story string, b bent) {
		b.Mechanism, b.name = m, m.Describe().Name+"-"+fault
		all = append(all, Specimen{Name: b.name, Caught: caught, Story: story, Mechanism: b})
	}
	for _, m := range []sdk.Mechanism{counts.Mechanism{}, totals.Mechanism{}, mean.Mechanism{}, proportion.Mechanism{}, ratio.Mechanism{},
		variance.Mechanism{}, variance.SD(), distinct.Mechanism{}, histogram.Mechanism{}} {
		bend(m, "wrong-cap", "l1-sensitivity", "plans for units with one row, and says that it plans for several", bent{public: uncapped})
		bend(m, "group-left-out", "groups", "leaves the last group of the domain out of its result", bent{group: true})
		bend(m, "biased-rounding", "linear", "rounds the sums up, and not each row to the nearest", bent{query: biased})
	}
	twice := bent{number: func(x float64) float64 { return 2 * x }}
	for _, m := range []sdk.Mechanism{totals.Mechanism{}, mean.Mechanism{}, ratio.Mechanism{}} {
		bend(m, "clip-forgotten", "l1-sensitivity", "doubles the values after they were clipped", twice)
	}
	bend(totals.Mechanism{}, "squares-uncharged", "l1-sensitivity",
		"adds up the squares for an interval three times, and charges them once", bent{query: tripled})
	bend(quantiles.Mechanism{}, "wrong-cap", "l1-sensitivity", "plans for units with one row, and says that it plans for several",
		bent{public: uncapped})
	bend(quantiles.Mechanism{}, "group-left-out", "groups", "leaves the last group of the domain out of its result", bent{group: true})
	bend(quantiles.Mechanism{}, "wrong-sensitivity", "scores", "draws every rank as if a score moved by half of what it does", bent{rate: 2})
	bend(bounds.Mechanism{}, "wrong-sensitivity", "scores", "draws a bound as if a row moved a count of rows by half", bent{rate: 2})
	bend(marginals.Mechanism{}, "wrong-cap", "l2-sensitivity", "plans for units with one row, and says that it plans for several",
		bent{public: uncapped})
	bend(marginals.Mechanism{}, "biased-rounding", "linear", "rounds the sums up, and not each row to the nearest", bent{query: biased})
	for _, m := range []sdk.Mechanism{counts.Mechanism{}, totals.Mechanism{}, distinct.Mechanism{}, histogram.Mechanism{}} {
		bend(m, "true-threshold", "result", "suppresses cells by what they truly hold", bent{least: 2})
	}
	bend(bounds.Mechanism{}, "wrong-cap", "scores", "plans for units with one row, and says that it plans for several", bent{public: uncapped})
	return all
}
