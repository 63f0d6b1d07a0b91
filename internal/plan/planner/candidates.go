package planner

import (
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/amplify"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/samplers"
)

// candidate is a design to compare.
type candidate struct {
	name       string
	executable bool
	public     design
	made       *variant // that the job could name; nil where budget inverts the design
	budget     func(target privacy.Point) (privacy.Point, []privacy.Relation, error)
	note       string
	refused    string // why there is no such design under the job's relation
}

// someUnits is the number of strata or units that a comparison takes by default.
const someUnits = 20

// noFrame says why a job draws no strata or stages from a collected table.
const noFrame = "the table was collected, who was is secret, and so is how many of them lie in a unit"

// candidates are the designs, in the order of the table of docs/sampling.md.
func (u *subject) candidates(size int64) ([]candidate, error) {
	n := u.population()
	fixed := u.job.Dataset.Relation == privacy.ReplaceOne
	out := []candidate{
		{name: "full table", executable: true, public: design{kind: "full", rate: 1, size: n}, made: &variant{from: job.All, alone: true}}}
	for _, m := range []struct {
		name   string
		method job.Method
	}{{"Poisson", job.Poisson}, {"SRSWOR", job.SRSWOR}} {
		v, d, err := u.at(m.method, 0, size)
		if err != nil {
			return nil, err
		}
		v.alone = true
		out = append(out, candidate{name: m.name, executable: true, public: d, made: &v})
	}
	columns := u.frameColumns()
	var more []candidate
	var err error
	switch {
	case u.table.sampling != nil:
		more = []candidate{{name: "stratified, fixed numbers", refused: noFrame}, {name: "multistage", refused: noFrame}}
	case fixed && len(columns) > 0:
		more, err = u.overFrame(size, columns)
	case fixed:
		more, err = u.hypothetical(size)
	default:
		const known = "the public number of records of every unit would fix N, which is secret under add-remove"
		more = []candidate{
			{name: "stratified, fixed numbers", refused: known},
			{name: "multistage", refused: known},
		}
	}
	if err != nil {
		return nil, err
	}
	out = append(out, more...)
	out = append(out, u.ratesByStratum(size), u.twoStagePoisson(size))
	replaced := candidate{name: "with replacement", note: "accounted for, not executable"}
	if !fixed {
		replaced.refused = "its rule is proved under replace-one, where N is public"
		return append(out, replaced), nil
	}
	replaced.public = design{kind: "with-replacement", rate: float64(size) / float64(n), size: size}
	replaced.budget = u.inverted(privacy.WithReplacement{Take: size, Of: n})
	return append(out, replaced), nil
}

// inverted is the budget that any mechanism may spend on a draw from the table.
func (u *subject) inverted(s privacy.Sampling) func(privacy.Point) (privacy.Point, []privacy.Relation, error) {
	return func(target privacy.Point) (privacy.Point, []privacy.Relation, error) {
		relation := u.table.relation
		under, err := privacy.SampleRelations(s, relation)
		if err != nil {
			return privacy.Point{}, nil, err
		}
		b, err := plan.OnSample(s, relation, target)
		return b, under, err
	}
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
		c := candidate{name: name, note: note, executable: true, public: d, made: &variant{from: invented, sample: &s, alone: true}}
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
		for _, x := range u.allocated(columns[0], size) {
			d, err := u.framed(x.sample)
			add(x.name, x.note, x.sample, d, err)
		}
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

// allocated are allocations that follow from public facts of the strata: the smallest error of
// the draw alone (Neyman), and of noise and draw together.
func (u *subject) allocated(column string, size int64) []allocated {
	if u.model == nil || u.column == nil || u.statistic != sdk.StatisticMean && u.statistic != sdk.StatisticTotal {
		return nil
	}
	keys := slices.Sorted(maps.Keys(u.strata))
	spent := privacy.Point{Epsilon: rational.Down(u.release.Guarantee.Epsilon), Delta: rational.Down(u.release.Guarantee.Delta)}
	a := allocation{noise: noiseAt(number(u.column.Upper)-number(u.column.Lower), spent)}
	lo := make([]int64, len(keys))
	for h, key := range keys {
		sd, ok := u.model.strata[key]
		if !ok {
			sd = u.model.sd * math.Sqrt(1-u.icc())
		}
		a.of, a.sd, lo[h] = append(a.of, u.strata[key]), append(a.sd, sd), 1
	}
	with := func(name, note string, take []int64) (allocated, bool) {
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
		return allocated{name: name, note: note, sample: s}, take != nil
	}
	var out []allocated
	neyman := "over the public frame: the least error of the draw by the assumed sd of each stratum"
	if x, ok := with("stratified, Neyman", neyman, a.neyman(lo, a.of, size)); ok && len(u.model.strata) > 0 {
		out = append(out, x)
	}
	if x, ok := with("stratified, allocated", "over the public frame: the least error of noise and draw together", a.best(size)); ok {
		out = append(out, x)
	}
	return out
}

// allocated is a stratified sample whose numbers follow from public facts.
type allocated struct {
	name, note string
	sample     job.Sample
}

// hypothetical returns the same two designs over equal strata and units that no frame
// describes.
func (u *subject) hypothetical(size int64) ([]candidate, error) {
	n := u.population()
	units := max(2, min(someUnits, size, n/2))
	inStratum, take := n/units, max(1, size/units)
	all := make([]samplers.Unit, units)
	for i := range all {
		all[i] = samplers.Unit{Key: []string{strconv.Itoa(i)}, Records: inStratum}
	}
	frame, err := samplers.NewFrame([]string{"unit"}, all)
	if err != nil {
		return nil, err
	}
	public := func(records int64, d samplers.Design) design {
		return design{kind: "srswor", rate: float64(records) / float64(n), size: records, made: d}
	}
	strata, err := samplers.NewStratifiedTake(frame, slices.Repeat([]int64{take}, int(units)))
	if err != nil {
		return nil, err
	}
	strat := candidate{name: fmt.Sprintf("stratified, %d strata", units), executable: true, public: public(take*units, strata),
		note: "hypothetical equal strata", budget: u.inverted(privacy.WithoutReplacement{Take: take, Of: inStratum})}
	// Half of the units, and as many rows in each as give the same size.
	half := max(1, units/2)
	below := min(inStratum, max(1, size/half))
	staged, err := samplers.NewMultistage(frame, []samplers.Stage{{Unit: "unit", Take: half}, {Take: below}})
	if err != nil {
		return nil, err
	}
	stages := candidate{name: fmt.Sprintf("multistage, %d of %d units", half, units), executable: true, public: public(half*below, staged),
		note:   "hypothetical equal units",
		budget: u.inverted(privacy.Multistage{Stages: []privacy.Stage{{Take: half, Of: units}, {Take: below, Of: inStratum}}})}
	return []candidate{strat, stages}, nil
}

// ratesByStratum is Poisson sampling with a public rate in each stratum. What it
// spends depends on the largest rate alone.
func (u *subject) ratesByStratum(size int64) candidate {
	c := candidate{name: "stratified Poisson", executable: true}
	if u.job.Dataset.Relation != privacy.AddRemove {
		c.refused = "rates by stratum are proved under add-remove only"
		return c
	}
	if u.table.sampling != nil {
		c.refused = noFrame
		return c
	}
	for _, s := range u.job.Samples {
		if len(s.Rates) == 0 {
			continue
		}
		if scaled, d, err := u.scaledRates(s, float64(size)/float64(u.population())); err == nil {
			c.public, c.made = d, &variant{from: invented, sample: &scaled, alone: true}
			c.note = "the rates of the sample " + s.Name + " scaled so that the largest gives the size; the realised size is smaller"
			return c
		}
	}
	rate := float64(size) / float64(u.population())
	c.public, c.budget = design{kind: "poisson", rate: rate}, u.inverted(privacy.Poisson{Rate: rate})
	c.note = "one rate in all strata: the same as Poisson"
	return c
}

// twoStagePoisson keeps half of the clusters and then records, each by its own coin
// (P5). No sampler draws it.
func (u *subject) twoStagePoisson(size int64) candidate {
	c := candidate{name: "two-stage Poisson"}
	if u.job.Dataset.Relation != privacy.AddRemove {
		c.refused = "its rule is proved under add-remove only"
		return c
	}
	n := u.population()
	units := max(2, min(someUnits, size, n/2))
	largest := (n + units - 1) / units
	rate := float64(size) / float64(n)
	p := math.Max(0.5, rate)
	c.public = design{kind: "poisson", rate: rate}
	c.note = fmt.Sprintf("clusters kept with %.3g, records with %.3g, at most %d records in a cluster; accounted for, not executable",
		p, rate/p, largest)
	if icc := u.icc(); icc > 0 {
		c.note += "; the sampling error leaves the correlation within clusters out"
	}
	c.budget = func(target privacy.Point) (privacy.Point, []privacy.Relation, error) {
		if target.Delta > 0 {
			return privacy.Point{}, nil, errors.New("its rule is for pure ε, and this target has a δ")
		}
		return privacy.Point{Epsilon: amplify.PoissonPoissonSample(p, rate/p, largest, target.Epsilon)},
			[]privacy.Relation{privacy.AddRemove}, nil
	}
	return c
}

func (u *subject) icc() float64 {
	if u.model == nil {
		return 0
	}
	return u.model.icc
}
