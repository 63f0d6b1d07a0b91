package job

import "github.com/dprelease/dprelease/internal/lang"

import "math/big"

// Assume holds public assumptions about the values of a column. The planner and the
// report use them to forecast the error of sampling; they change no release and no
// guarantee. Nothing in it may come from the private table.
type Assume struct {
	Distribution Shape    // "" where only moments are assumed
	Mean, SD     *big.Rat // moments
	SDBy         []Named[*big.Rat]
	ICC          *big.Rat // intraclass correlation within the units of a design; 0 where absent
	LogMean      *big.Rat // of the logarithm, Lognormal
	LogSD        *big.Rat
	Parts        []BetaPart // Beta
	Pilot        string     // a public CSV file, PilotTable
	Column       string     // its column
}

// Strata returns the assumed standard deviations by stratum, nil where there are none.
func (a *Assume) Strata() map[string]float64 {
	if len(a.SDBy) == 0 {
		return nil
	}
	out := map[string]float64{}
	for _, s := range a.SDBy {
		out[s.Name], _ = s.Value.Float64()
	}
	return out
}

// Shape is the form of an assumed distribution.
type Shape string

const (
	// Normal is the normal distribution with the assumed mean and sd.
	Normal Shape = "normal"
	// Lognormal has a normal logarithm.
	Lognormal Shape = "lognormal"
	// Beta is a mixture of beta distributions, each scaled to an interval.
	Beta Shape = "beta"
	// PilotTable is the values of a public table.
	PilotTable Shape = "pilot"
)

// BetaPart is one part of a mixture: From + (To − From)·Beta(A, B), which runs
// backwards where To is below From.
type BetaPart struct {
	Weight, A, B, From, To *big.Rat
}

func assume() kind[Assume] {
	positive := amount(span{lo: "0", loOpen: true})
	return object(
		key("distribution", choice(Normal, Lognormal, Beta, PilotTable), func(a *Assume) *Shape { return &a.Distribution },
			"The assumed form: normal (mean, sd), lognormal (log_mean, log_sd), beta (parts) or pilot (a public table). Needed for what is simulated, such as the median"),
		key("mean", amount(span{}), func(a *Assume) **big.Rat { return &a.Mean },
			"The assumed mean", example("660")),
		key("sd", positive, func(a *Assume) **big.Rat { return &a.SD },
			"The assumed standard deviation", example("120")),
		key("sd_by", byName(positive, "STRATUM", checkText), func(a *Assume) *[]Named[*big.Rat] { return &a.SDBy },
			"The assumed standard deviation inside each stratum, for strata with public sizes: plan --compare proposes how many rows to take of each", example("{E: 95, H: 110, M: 100}")),
		key("icc", amount(span{lo: "0", hi: "1"}), func(a *Assume) **big.Rat { return &a.ICC },
			"The assumed correlation of values within one unit or stratum", otherwise("0"), example("0.2")),
		key("log_mean", amount(span{}), func(a *Assume) **big.Rat { return &a.LogMean },
			"The mean of the natural logarithm, of lognormal", example("5")),
		key("log_sd", positive, func(a *Assume) **big.Rat { return &a.LogSD },
			"The standard deviation of the natural logarithm, of lognormal", example("0.5")),
		key("parts", list(betaPart(), 1), func(a *Assume) *[]BetaPart { return &a.Parts },
			"The parts of a mixture of beta distributions", example("[{weight: 1, a: 2, b: 10, from: 0, to: 500}]")),
		fileKey("pilot", func(a *Assume) *string { return &a.Pilot }, nil,
			"A public CSV file with a header, of pilot. It must be public: the planner reads it. ${NAME} is replaced", example("pilot.csv")),
		key("column", text(), func(a *Assume) *string { return &a.Column },
			"The column of the pilot table", example("api99")),
	)
}

func betaPart() kind[BetaPart] {
	positive := amount(span{lo: "0", hi: "1000000", loOpen: true})
	return object(
		key("weight", positive, func(p *BetaPart) **big.Rat { return &p.Weight },
			"The share of this part in the whole, relative to the other weights", otherwise("1")),
		key("a", positive, func(p *BetaPart) **big.Rat { return &p.A }, "The first shape parameter", required(), example("2")),
		key("b", positive, func(p *BetaPart) **big.Rat { return &p.B }, "The second shape parameter", required(), example("10")),
		key("from", amount(span{}), func(p *BetaPart) **big.Rat { return &p.From }, "Where the part begins", required(), example("0")),
		key("to", amount(span{}), func(p *BetaPart) **big.Rat { return &p.To },
			"Where it ends; below from, the part runs backwards", required(), example("500")),
	)
}

// assume finds assumptions that do not fit together.
func (k *checker) assume(path string, c *Column) {
	a := c.Assume
	if a == nil {
		return
	}
	at := lang.Key(path, "assume")
	if c.Type != Number {
		k.wrong(at, "", "is for numbers")
		return
	}
	has := func(name string) bool { return k.j.Has(lang.Key(at, name)) }
	belong := map[Shape][]string{
		Normal: {"mean", "sd"}, Lognormal: {"log_mean", "log_sd"}, Beta: {"parts"}, PilotTable: {"pilot", "column"},
	}
	for _, name := range belong[a.Distribution] {
		if !has(name) {
			k.wrong(lang.Key(at, name), "", "is missing: distribution %s needs it", a.Distribution)
		}
	}
	for _, shape := range []Shape{Lognormal, Beta, PilotTable} {
		if shape != a.Distribution {
			k.refuse(at, belong[shape], "say distribution: "+string(shape), "belongs to distribution %s", shape)
		}
	}
	if a.Distribution == "" && !has("sd") {
		k.wrong(at, "say sd, or a distribution", "assumes nothing")
	}
	if a.Distribution != "" && a.Distribution != Normal {
		k.refuse(at, belong[Normal], "leave it out", "follows from the distribution")
	}
	for i, p := range a.Parts {
		if p.From != nil && p.To != nil && p.From.Cmp(p.To) == 0 {
			k.wrong(lang.Key(lang.Item(lang.Key(at, "parts"), i), "to"), "", "must differ from from")
		}
	}
}
