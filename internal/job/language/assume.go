package language

import (
	"math/big"

	"github.com/dprelease/dprelease/internal/job"
)

func assume() kind[job.Assume] {
	positive := amount(span{lo: "0", loOpen: true})
	return object(
		key("distribution", choice(job.Normal, job.Lognormal, job.PilotTable), func(a *job.Assume) *job.Shape { return &a.Distribution },
			"The assumed form, for what is simulated: normal or lognormal with this mean and sd, or pilot, a public table"),
		key("mean", amount(span{}), func(a *job.Assume) **big.Rat { return &a.Mean },
			"The assumed mean", example("660")),
		key("sd", positive, func(a *job.Assume) **big.Rat { return &a.SD },
			"The assumed standard deviation", example("120")),
		key("sd_by", byName(positive, "STRATUM", checkText), func(a *job.Assume) *[]job.Named[*big.Rat] { return &a.SDBy },
			"The assumed standard deviation inside each stratum: plan --compare proposes how many rows to take of each",
			example("{E: 95, H: 110, M: 100}")),
		key("icc", amount(span{lo: "0", hi: "1"}), func(a *job.Assume) **big.Rat { return &a.ICC },
			"The assumed correlation of values within one unit or stratum", otherwise("0"), example("0.2")),
		key("pilot", filePath(), func(a *job.Assume) *string { return &a.Pilot },
			"The public CSV file of pilot, with a header. ${NAME} is replaced", example("pilot.csv")),
		key("column", text(), func(a *job.Assume) *string { return &a.Column },
			"The column of the pilot table", example("api99")),
	)
}

// assume finds assumptions that do not fit together.
func (k *checker) assume(path string, c *job.Column) {
	a := c.Assume
	if a == nil {
		return
	}
	at := job.Key(path, "assume")
	if c.Type != job.Number {
		k.wrong(at, "", "is for numbers")
		return
	}
	has := func(name string) bool { return k.j.Has(job.Key(at, name)) }
	belong := map[job.Shape][]string{
		job.Normal: {"mean", "sd"}, job.Lognormal: {"mean", "sd"}, job.PilotTable: {"pilot", "column"},
	}
	for _, name := range belong[a.Distribution] {
		if !has(name) {
			k.wrong(job.Key(at, name), "", "is missing: distribution %s needs it", a.Distribution)
		}
	}
	if a.Distribution != job.PilotTable {
		k.refuse(at, belong[job.PilotTable], "say distribution: pilot", "belongs to distribution pilot")
	} else {
		k.refuse(at, belong[job.Normal], "leave it out", "follows from the distribution")
	}
	if a.Distribution == job.Lognormal && a.Mean != nil && a.Mean.Sign() <= 0 {
		k.wrong(job.Key(at, "mean"), "", "must be above 0: the values of a lognormal are")
	}
	if a.Distribution == "" && !has("sd") {
		k.wrong(at, "say sd, or a distribution", "assumes nothing")
	}
}
