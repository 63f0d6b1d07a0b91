package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/dprelease/dprelease/lab/measure"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
)

// persons have rows in several groups, of which a cap chooses some at random.
type persons struct {
	rows         [][]uint32 // of each person
	groups, most int        // so many groups of a person count, and so many rows in each
}

func (p *persons) cap() string {
	return fmt.Sprintf("cap: {groups: %d, rows: %d, binds: definition}", p.groups, p.most)
}

// byGroup lists the rows of a person in each group.
func byGroup(rows []uint32, groups []int32) (out map[int32][]uint32, order []int32) {
	out = map[int32][]uint32{}
	for _, i := range rows {
		if g := groups[i]; out[g] == nil {
			order = append(order, g)
		}
		out[groups[i]] = append(out[groups[i]], i)
	}
	return out, order
}

// choose takes the rows that count: of each person some groups, and some rows in each, all choices alike.
func (p *persons) choose(rng *rand.Rand, groups []int32) (out []uint32) {
	for _, rows := range p.rows {
		in, order := byGroup(rows, groups)
		rng.Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })
		for _, g := range order[:min(p.groups, len(order))] {
			mine := in[g]
			rng.Shuffle(len(mine), func(i, k int) { mine[i], mine[k] = mine[k], mine[i] })
			out = append(out, mine[:min(p.most, len(mine))]...)
		}
	}
	return out
}

// expected are the values of the rows that count, on average over the choice: of a mean the ratio of the two averages.
func (p *population) expected() map[string][]float64 {
	groups, x, y := p.table.Columns["ward"].Codes, p.table.Columns["cost"].Float64, p.table.Columns["days"].Float64
	domain := len(p.columns[1].Domain)
	count, sum, dear, days := make([]float64, domain), make([]float64, domain), make([]float64, domain), make([]float64, domain)
	for _, rows := range p.persons.rows {
		in, order := byGroup(rows, groups)
		for _, g := range order {
			share := math.Min(1, float64(p.persons.groups)/float64(len(order))) * math.Min(1, float64(p.persons.most)/float64(len(in[g])))
			for _, i := range in[g] {
				count[g], sum[g], days[g] = count[g]+share, sum[g]+share*x[i], days[g]+share*y[i]
				if x[i] >= 50 {
					dear[g] += share
				}
			}
		}
	}
	out := map[string][]float64{}
	for i, r := range p.releases {
		values := make([]float64, domain)
		for g := range values {
			values[g] = map[string]float64{"count": count[g], "sum": sum[g], "mean": sum[g] / count[g], "proportion": dear[g] / count[g],
				"ratio": sum[g] / days[g]}[r.mechanism]
		}
		out[fmt.Sprint("r", i)] = values
	}
	return out
}

// stays are 3,000 persons with up to 47 stays in eight wards of unlike size.
func stays() *population {
	rng := rand.New(rand.NewPCG(40, 10))
	p := &population{
		name: "capped", about: "made at random: persons with up to 47 stays, of which at most 3 in each of 2 wards count (`quantiles` have " +
			"no interval then)", epsilon: "1", tiny: true, designs: []string{"capped"},
		columns: []sdk.Column{measure.Number("cost", 0, 100), measure.Category("ward", "a", "b", "c", "d", "e", "f", "g", "h"),
			measure.Number("days", 0, 30)},
		releases: []release{{"count", "{by: ward}"}, {"sum", "{column: cost, by: ward}"}, {"mean", "{column: cost, by: ward}"},
			{"proportion", "{column: cost, from: 50, by: ward}"}, {"ratio", "{numerator: cost, denominator: days, by: ward}"}},
		persons: &persons{groups: 2, most: 3},
	}
	var cost, days []float64
	var ward []int32
	for range 3000 {
		var mine []uint32
		for range min(47, 1+int(math.Exp(1.2*rng.NormFloat64()))) {
			w := int32(min(7, int(rng.ExpFloat64()*1.6)))
			mine = append(mine, uint32(len(cost)))
			cost, ward = append(cost, min(max(30+5*float64(w)+25*rng.NormFloat64(), 0), 100)), append(ward, w)
			days = append(days, min(max(cost[len(cost)-1]/10+3*rng.NormFloat64(), 0), 30))
		}
		p.persons.rows = append(p.persons.rows, mine)
	}
	p.table = sdktest.Table{Rows: len(cost),
		Columns: map[string]sdk.Values{"cost": {Float64: cost}, "days": {Float64: days}, "ward": {Codes: ward}}}
	return p
}

// nans has NaN where a value is blank.
func nans(r sdk.Result) sdk.Result {
	for _, c := range r.Columns {
		for i, blank := range c.Blank {
			if blank && c.Float64 != nil {
				c.Float64[i] = math.NaN()
			}
		}
	}
	return r
}
