package language

import (
	"fmt"
	"math/big"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/privacy"
)

// refusedMethods are sampling methods that do not amplify (P3), with the reason.
var refusedMethods = map[string]string{
	"systematic":       "it draws one cluster of rows that the order of the table makes, so it buys no privacy",
	"neyman":           "the allocation depends on the spread of a private variable, so the sizes themselves reveal it",
	"pps":              "selection proportional to a private variable reveals that variable",
	"proportional":     "rounding n_h = round(r·N_h) buys no privacy at a rounding boundary",
	"with-replacement": "no sampler for it is offered",
	"with_replacement": "no sampler for it is offered",
	"srswr":            "no sampler for it is offered",
}

func checkSampleName(s string) (string, error) {
	if s == job.All {
		return "", fmt.Errorf("must not be %s, which stands for the whole table", job.All)
	}
	return checkName(s)
}

func sample() kind[job.Sample] {
	return oneOf("method", func(s *job.Sample) *job.Method { return &s.Method }, "How the sample is drawn", refusedMethods, drawn()...)
}

// drawn are the methods, with their keys.
func drawn() []variant[job.Sample] {
	rate := amount(span{lo: "0", hi: "1", loOpen: true})
	keep := key("keep", flag(), func(s *job.Sample) *bool { return &s.Keep },
		"Keep the draw in the ledger, encrypted, for later jobs. The run prints its id", otherwise("false"))
	return []variant[job.Sample]{
		{string(job.Poisson), "Every unit is kept with the same probability, each on its own coin", []field[job.Sample]{
			key("rate", rate, func(s *job.Sample) **big.Rat { return &s.Rate },
				"The probability with which a unit is kept", required(), example("0.2")),
			keep}},
		{string(job.SRSWOR), "Simple random sampling without replacement", []field[job.Sample]{
			key("size", count(), func(s *job.Sample) *int64 { return &s.Size },
				"The number of units drawn", required(), example("800")),
			keep}},
		{string(job.Multistage), "Units are drawn stage by stage without replacement; the last stage draws rows", []field[job.Sample]{
			key("stages", list(stage(), 2), func(s *job.Sample) *[]job.Stage { return &s.Stages },
				"The stages, from the top. The last has no unit: it draws rows", required(),
				example("[{unit: cnum, take: 20}, {unit: dnum, take: 3}, {take: 2}]")),
			keep}},
		{string(job.Stratified), "Every stratum is sampled on its own, at public rates or with public sizes", []field[job.Sample]{
			key("strata", text(), func(s *job.Sample) *string { return &s.Strata },
				"The column that tells the strata apart", required(), example("stype")),
			key("rates", byName(rate, "STRATUM", checkText), func(s *job.Sample) *[]job.Named[*big.Rat] { return &s.Rates },
				"The rate of each stratum: a Poisson sample in each", example("{E: 0.1, H: 0.5, M: 0.5}")),
			key("take", byName(take(), "STRATUM", checkText), func(s *job.Sample) *[]job.Named[job.Take] { return &s.Takes },
				"The number of rows from each stratum, or all: a sample without replacement in each", example("{E: 200, H: all, M: 100}")),
			key("rates_by_size", optional(bySize(rate)), func(s *job.Sample) **job.BySize { return &s.BySize },
				"strata names a unit of dataset.frame, such as a firm, and a row is drawn at a rate proportional to the public size of its unit "+
					"(frame.records). The largest rate counts for privacy", example(`{expected: 300, most: "0.5"}`)),
			keep}},
		{string(job.Rotation), "One wave of a panel that rotates: each unit is in some of the waves, drawn at random for it alone. " +
			"The first wave pays for all, and the ledger keeps who is in which, encrypted, until ledger close", []field[job.Sample]{
			key("waves", wave(), func(s *job.Sample) *int64 { return &s.Waves },
				"The number of waves of the panel", required(), example("12")),
			key("in", wave(), func(s *job.Sample) *int64 { return &s.In },
				"In how many waves a unit is: all sets of so many are equally likely", example("1")),
			key("patterns", list(wavesOfUnit(), 1), func(s *job.Sample) *[][]int64 { return &s.Patterns },
				"Instead of in: the sets of waves in which a unit may be, equally likely; one that is listed twice is twice as likely",
				example("[[1, 2, 3], [4, 5, 6]]")),
			key("wave", wave(), func(s *job.Sample) *int64 { return &s.Wave },
				"Which wave this is. The first is 1", required(), example(`"$(wave)"`)),
		}},
		{string(job.Kept), "The draw of an earlier job that kept it", []field[job.Sample]{
			key("id", hexadecimal(32), func(s *job.Sample) *string { return &s.ID },
				"The id of the draw. Ledger, data set, relation, unit and table must be the same", required(),
				example(`"5f1c0de2a7b94c3e8d6f0a1b2c3d4e5f"`))}},
	}
}

// wave is a number of waves, or of one.
func wave() kind[int64] {
	return transform(count(), func(n int64) (int64, error) {
		if n > privacy.MaxWaves {
			return 0, fmt.Errorf("must be at most %d", privacy.MaxWaves)
		}
		return n, nil
	})
}

// wavesOfUnit is a set of waves in which a unit may be.
func wavesOfUnit() kind[[]int64] {
	k := list(wave(), 1)
	k.label = "list of wave"
	return k
}

func bySize(rate kind[*big.Rat]) kind[job.BySize] {
	return object(
		key("expected", amount(span{lo: "0", loOpen: true}), func(s *job.BySize) **big.Rat { return &s.Expected },
			"The sum of the rates of all units of the frame, as long as none reaches most", required(), example("300")),
		key("most", rate, func(s *job.BySize) **big.Rat { return &s.Most },
			"The largest rate; a unit that would have a larger one gets this", required(), example(`"0.5"`)),
	)
}

func stage() kind[job.Stage] {
	return object(
		key("unit", text(), func(s *job.Stage) *string { return &s.Unit },
			"The key column of the units of this stage. The last stage has none", example("cnum")),
		key("take", take(), func(s *job.Stage) *job.Take { return &s.Take },
			"How many are drawn below each unit of the stage above, or all", required(), example("20")),
		key("if_fewer", choice(job.FewerRefuse, job.FewerAll), func(s *job.Stage) *job.IfFewer { return &s.IfFewer },
			"Below a unit that holds fewer: refuse the job, or take all", otherwise("refuse"), example("all")),
	)
}
