package planner

import (
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/samplers"
)

// candidate is a design to compare.
type candidate struct {
	name    string
	public  design
	made    *variant // that the job could name, nil where it is refused
	note    string
	refused string // why there is no such design for the job
}

// Why a job draws no strata or stages.
const (
	noFrame = "the table was collected, who was is secret, and so is how many of them lie in a unit"
	noUnits = "the job has no dataset.frame, which says how many records lie in a unit"
	secretN = "the public number of records of every unit would fix N, which is secret under add-remove"
)

// candidates are the designs, in the order of the table of docs/sampling.md.
func (u *subject) candidates(size int64) ([]candidate, error) {
	out := []candidate{{name: "full table", public: design{kind: "full", rate: 1, size: u.population()},
		made: &variant{from: job.All, alone: true}}}
	for _, m := range []struct {
		name   string
		method job.Method
	}{{"Poisson", job.Poisson}, {"SRSWOR", job.SRSWOR}} {
		v, d, err := u.at(m.method, 0, size)
		if err != nil {
			return nil, err
		}
		v.alone = true
		out = append(out, candidate{name: m.name, public: d, made: &v})
	}
	columns, why := u.frameColumns(), ""
	switch {
	case u.table.sampling != nil:
		why = noFrame
	case u.job.Dataset.Relation != privacy.ReplaceOne:
		why = secretN
	case len(columns) == 0:
		why = noUnits
	}
	if why != "" {
		out = append(out, candidate{name: "stratified, fixed numbers", refused: why}, candidate{name: "multistage", refused: why})
	} else {
		more, err := u.overFrame(size, columns)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return append(out, u.ratesByStratum(size)), nil
}

// frameColumns are the key columns of the job's public frame, from the top.
func (u *subject) frameColumns() []string {
	if u.job.Dataset.Frame == nil {
		return nil
	}
	for _, s := range u.job.Samples {
		var out []string
		for _, st := range s.Stages {
			if st.Unit != "" {
				out = append(out, st.Unit)
			}
		}
		if s.Strata != "" {
			out = []string{s.Strata}
		}
		if len(out) > 0 {
			return out
		}
	}
	f, err := file.Bounded(u.job.Dataset.Frame.Path, samplers.MaxFrame)
	if err != nil {
		return nil
	}
	defer f.Close()
	header, err := csv.NewReader(f).Read()
	if err != nil {
		return nil
	}
	var out []string
	for _, h := range header {
		if h != u.job.Dataset.Frame.Records {
			out = append(out, h)
		}
	}
	return out
}

// overFrame returns the stratified and the multistage design over the public frame.
// The stratified one takes numbers in proportion to the public sizes of the strata; where
// units lie in units, it takes the same number in each of the smallest. The multistage
// one takes the job's own stages, or half of the largest units, scaled to the size.
func (u *subject) overFrame(size int64, columns []string) ([]candidate, error) {
	// All units of every stage, and of each ultimate unit the same number of records:
	// stratification by ultimate units.
	within := job.Sample{Method: job.Multistage}
	for _, c := range columns {
		within.Stages = append(within.Stages, job.Stage{Unit: c, Take: job.Take{All: true}})
	}
	within.Stages = append(within.Stages, job.Stage{Take: job.Take{Count: 1}, IfFewer: job.FewerAll})
	if _, err := u.framed(within); err != nil {
		return nil, fmt.Errorf("%s: dataset.frame: %w", u.job.Pos("dataset.frame"), err)
	}
	n, units := u.population(), int64(len(u.strata))
	stages := within
	stages.Stages = slices.Clone(within.Stages)
	stages.Stages[0].Take = job.Take{Count: max(1, units/2)}
	note := fmt.Sprintf("over the public frame: half of the %d units of %s, as many records of each unit below", units, columns[0])
	for _, s := range u.job.Samples {
		if s.Method == job.Multistage {
			stages, note = s, "over the public frame, the stages of the sample "+s.Name+" scaled to the size"
			break
		}
	}
	var out []candidate
	add := func(name, note string, s job.Sample, d design, err error) {
		c := candidate{name: name, note: note, public: d, made: &variant{from: invented, sample: &s, alone: true}}
		if err != nil {
			c = candidate{name: name, refused: err.Error()}
		}
		out = append(out, c)
	}
	rate := float64(size) / float64(n)
	if len(columns) == 1 {
		strat := u.proportional(columns[0], size)
		d, err := u.framed(strat)
		add(fmt.Sprintf("stratified, %d strata", units), "over the public frame: numbers in proportion to the records of "+columns[0],
			strat, d, err)
		u.allocated(columns[0], size, add)
	} else {
		strat, d, err := u.scaledStages(within, rate)
		add("stratified", "over the public frame: every unit of "+columns[len(columns)-1]+" is a stratum, with as many records of each",
			strat, d, err)
	}
	s, d, err := u.scaledStages(stages, rate)
	add("multistage", note, s, d, err)
	return out, nil
}

// proportional takes public numbers in proportion to the public sizes of the strata.
func (u *subject) proportional(column string, size int64) job.Sample {
	s := job.Sample{Method: job.Stratified, Strata: column}
	for _, key := range slices.Sorted(maps.Keys(u.strata)) {
		of := u.strata[key]
		take := max(1, int64(math.Round(float64(size)*float64(of)/float64(u.population()))))
		s.Takes = append(s.Takes, job.Named[job.Take]{Name: key, Value: job.Take{Count: take}})
	}
	u.capTakes(s.Takes)
	return s
}

// allocated adds allocations that follow from public facts of the strata: the smallest error of
// the draw alone (Neyman), and of noise and draw together.
func (u *subject) allocated(column string, size int64, add func(name, note string, s job.Sample, d design, err error)) {
	if u.model == nil || u.column == nil || u.statistic != sdk.StatisticMean && u.statistic != sdk.StatisticTotal {
		return
	}
	keys := slices.Sorted(maps.Keys(u.strata))
	spent := privacy.Point{Epsilon: rational.Down(u.release.Guarantee.Epsilon), Delta: rational.Down(u.release.Guarantee.Delta)}
	a := allocation{noise: noiseAt(rational.Near(u.column.Upper)-rational.Near(u.column.Lower), spent)}
	lo := make([]int64, len(keys))
	for h, key := range keys {
		sd, ok := u.model.Strata[key]
		if !ok {
			sd = u.model.SD * math.Sqrt(1-u.model.ICC)
		}
		a.of, a.sd, lo[h] = append(a.of, u.strata[key]), append(a.sd, sd), 1
	}
	with := func(name, note string, take []int64) {
		s := job.Sample{Method: job.Stratified, Strata: column}
		var words []string
		for h, n := range take {
			s.Takes = append(s.Takes, job.Named[job.Take]{Name: keys[h], Value: job.Take{Count: n}})
			words = append(words, fmt.Sprintf("%s: %d", keys[h], n))
		}
		u.capTakes(s.Takes)
		if len(words) <= 12 {
			note += ", take: {" + strings.Join(words, ", ") + "}"
		}
		if take != nil {
			d, err := u.framed(s)
			add(name, note, s, d, err)
		}
	}
	neyman, best := a.neyman(lo, a.of, size), a.best(size) // before a design that is made reads the strata again
	if len(u.model.Strata) > 0 {
		with("stratified, Neyman", "over the public frame: the least error of the draw by the assumed sd of each stratum", neyman)
	}
	with("stratified, allocated", "over the public frame: the least error of noise and draw together", best)
}

// ratesByStratum is Poisson sampling with the public rates of a sample of the job. What it
// spends depends on the largest rate alone.
func (u *subject) ratesByStratum(size int64) candidate {
	c := candidate{name: "stratified Poisson", refused: "the job has no sample with rates by stratum"}
	switch {
	case u.job.Dataset.Relation != privacy.AddRemove:
		c.refused = "rates by stratum are proved under add-remove only"
		return c
	case u.table.sampling != nil:
		c.refused = noFrame
		return c
	}
	for _, s := range u.job.Samples {
		if len(s.Rates) == 0 {
			continue
		}
		if scaled, d, err := u.scaledRates(s, float64(size)/float64(u.population())); err == nil {
			return candidate{name: c.name, public: d, made: &variant{from: invented, sample: &scaled, alone: true},
				note: "the rates of the sample " + s.Name + " scaled so that the largest gives the size; the realised size is smaller"}
		}
	}
	return c
}
