package job

import ()

import (
	"math/big"
)

// Assume holds public assumptions about the values of a column. The planner and the
// report use them to forecast the error of sampling; they change no release and no
// guarantee. Nothing in it may come from the private table.
type Assume struct {
	Distribution Shape    // "" where only moments are assumed
	Mean, SD     *big.Rat // moments
	SDBy         []Named[*big.Rat]
	ICC          *big.Rat // intraclass correlation within the units of a design; 0 where absent
	Pilot        string   // a public CSV file, PilotTable
	Column       string   // its column
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
	// Lognormal has a normal logarithm, and the assumed mean and sd.
	Lognormal Shape = "lognormal"
	// PilotTable is the values of a public table.
	PilotTable Shape = "pilot"
)

func assume() kind[Assume] {
	positive := amount(span{lo: "0", loOpen: true})
	return object(
		key("distribution", choice(Normal, Lognormal, PilotTable), func(a *Assume) *Shape { return &a.Distribution },
			"The assumed form, for what is simulated: normal or lognormal with this mean and sd, or pilot, a public table"),
		key("mean", amount(span{}), func(a *Assume) **big.Rat { return &a.Mean },
			"The assumed mean", example("660")),
		key("sd", positive, func(a *Assume) **big.Rat { return &a.SD },
			"The assumed standard deviation", example("120")),
		key("sd_by", byName(positive, "STRATUM", checkText), func(a *Assume) *[]Named[*big.Rat] { return &a.SDBy },
			"The assumed standard deviation inside each stratum: plan --compare proposes how many rows to take of each",
			example("{E: 95, H: 110, M: 100}")),
		key("icc", amount(span{lo: "0", hi: "1"}), func(a *Assume) **big.Rat { return &a.ICC },
			"The assumed correlation of values within one unit or stratum", otherwise("0"), example("0.2")),
		fileKey("pilot", func(a *Assume) *string { return &a.Pilot },
			"The public CSV file of pilot, with a header. ${NAME} is replaced", example("pilot.csv")),
		key("column", text(), func(a *Assume) *string { return &a.Column },
			"The column of the pilot table", example("api99")),
	)
}

// assume finds assumptions that do not fit together.
func (k *checker) assume(path string, c *Column) {
	a := c.Assume
	if a == nil {
		return
	}
	at := Key(path, "assume")
	if c.Type != Number {
		k.wrong(at, "", "is for numbers")
		return
	}
	has := func(name string) bool { return k.j.Has(Key(at, name)) }
	belong := map[Shape][]string{
		Normal: {"mean", "sd"}, Lognormal: {"mean", "sd"}, PilotTable: {"pilot", "column"},
	}
	for _, name := range belong[a.Distribution] {
		if !has(name) {
			k.wrong(Key(at, name), "", "is missing: distribution %s needs it", a.Distribution)
		}
	}
	if a.Distribution != PilotTable {
		k.refuse(at, belong[PilotTable], "say distribution: pilot", "belongs to distribution pilot")
	} else {
		k.refuse(at, belong[Normal], "leave it out", "follows from the distribution")
	}
	if a.Distribution == Lognormal && a.Mean != nil && a.Mean.Sign() <= 0 {
		k.wrong(Key(at, "mean"), "", "must be above 0: the values of a lognormal are")
	}
	if a.Distribution == "" && !has("sd") {
		k.wrong(at, "say sd, or a distribution", "assumes nothing")
	}
}
