package pipeline

import (
	"fmt"
	"maps"
	"slices"

	"github.com/dprelease/dprelease/internal/expr"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/report"
	"github.com/dprelease/dprelease/samplers"
)

// newReport writes down a plan: a report without results.
func newReport(p *Plan, version string) (report.Report, error) {
	j := p.job
	g, err := guarantee(p.all, p.answer)
	if err != nil {
		return report.Report{}, err
	}
	r := report.Report{
		Version:   report.Version,
		Tool:      report.Tool{Name: "dprelease", Version: version},
		Job:       report.Job{Name: j.Name, Digest: j.Digest()},
		Dataset:   datasetReport(j),
		Guarantee: g,
	}
	if c := j.Dataset.Collected; c != nil {
		r.Dataset.Collected = fmt.Sprintf("%s of %d units", c.Method, c.Population)
	}
	for _, d := range p.draws {
		entry, err := describeDraw(p, d)
		if err != nil {
			return r, err
		}
		entry.PublicColumns = d.publicColumns(j)
		r.Draws = append(r.Draws, entry)
		for _, c := range entry.PublicColumns {
			if !slices.Contains(r.Dataset.PublicColumns, c) {
				r.Dataset.PublicColumns = append(r.Dataset.PublicColumns, c)
			}
		}
		for _, rel := range d.releases {
			entry, err := describeRelease(p, d, rel)
			if err != nil {
				return r, err
			}
			r.Releases = append(r.Releases, entry)
		}
	}
	slices.SortStableFunc(r.Releases, func(a, b report.Release) int { return p.order(a.Name) - p.order(b.Name) })
	if p.table != nil {
		r.Collection = describeKept(p.table.kept)
		r.Collection.ID = p.table.kept.id
	}
	return r, nil
}

// order is a release's place in the job file.
func (p *Plan) order(name string) int {
	for _, d := range p.draws {
		for _, r := range d.releases {
			if r.job.Name == name {
				return r.index
			}
		}
	}
	return -1
}

// publicColumns are the columns in which a neighbour is the same, or else what is
// charged does not hold: those of the design's frame (P5), and those that are declared
// immutable where a release reads them and may count on it (P11).
func (d *draw) publicColumns(j *job.Job) []string {
	out := slices.Clone(d.design.Facts().UnitColumns)
	if k, ok := d.design.(*samplers.Kept); ok {
		out = k.PublicColumns()
	}
	if j.Dataset.Relation != privacy.ReplaceOne {
		return out
	}
	for _, r := range d.releases {
		for _, name := range r.plan.Columns {
			if c, ok := r.public.Column(name); ok && c.Immutable && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

func describeDraw(p *Plan, d *draw) (report.Draw, error) {
	relation := p.job.Dataset.Relation
	g, err := guarantee(p.onPopulation(d.event), d.answer)
	if err != nil {
		return report.Draw{}, err
	}
	entry := report.Draw{
		Name: d.name, Design: d.design.Kind(), Target: point(d.target), Sample: d.sample,
		SampleRelations: d.relations, Guarantee: g,
	}
	for _, r := range d.releases {
		entry.Releases = append(entry.Releases, r.job.Name)
	}
	entry.Kept = describeKept(d.kept)
	if s := sampling(d.design); s != nil {
		entry.Amplification = report.NewAmplification(s, relation, entry.Target)
		if eff, err := privacy.Efficiency(s, relation, entry.Target); err == nil {
			if entry.Amplification != nil && (d.arrival != nil || d.kept != nil) {
				eff = entry.Amplification.Rate * d.sample.Epsilon / entry.Target.Epsilon
			}
			entry.Efficiency = eff
			entry.Verdict = verdict(eff)
		}
		entry.SampleArrival = d.arrival
	}
	return entry, nil
}

// verdict says in words what the efficiency q·ε_n/ε of a design means: the noise
// that a sampled sum needs is 1/efficiency times that of the full table.
func verdict(efficiency float64) string {
	times := 1 / efficiency
	switch {
	case times < 0.995:
		return fmt.Sprintf("amplification more than makes up for the smaller sample: the noise of a total is %.3g times that of the full table", times)
	case times < 1.005:
		return "amplification makes up for the smaller sample: the noise of a total is that of the full table"
	}
	return fmt.Sprintf("amplification does not make up for the smaller sample: the noise of a total is at least %.3g times that of the full table", times)
}

// compared says what sampling did to the accuracy of one release: expected are its
// errors, in the order of the plan's.
func compared(r *release, rate float64, expected []report.ExpectedError) string {
	for i, e := range r.plan.Errors {
		if i >= len(r.full) || !(e.NoiseSD > 0) || !(r.full[i].NoiseSD > 0) {
			continue
		}
		sampling := "sampling"
		if rate > 0 {
			sampling += fmt.Sprintf(" at %.3g %%", 100*rate)
		}
		own, times := ownError(expected[i].Sampling), e.NoiseSD/r.full[i].NoiseSD
		switch {
		case times > 1.005:
			return fmt.Sprintf("%s made the noise %.3g times larger than the full table would have needed (%.4g), and adds %s: the full table would have been more accurate",
				sampling, times, r.full[i].NoiseSD, own)
		case times < 0.995:
			return fmt.Sprintf("%s made the noise %.3g times smaller than the full table would have needed (%.4g), and adds %s", sampling, 1/times, r.full[i].NoiseSD, own)
		}
		return fmt.Sprintf("%s left the noise as the full table would have needed it, and adds %s", sampling, own)
	}
	return ""
}

// ownError is the error of drawing a sample, in words.
func ownError(s *report.Sampling) string {
	switch {
	case s == nil || s.BoundSD == nil:
		return "an error of its own"
	case s.Assumption != "":
		return fmt.Sprintf("an error of its own (standard deviation at most %.4g, %.4g as assumed)", *s.BoundSD, s.AssumedSD)
	}
	return fmt.Sprintf("an error of its own (standard deviation at most %.4g)", *s.BoundSD)
}

func describeRelease(p *Plan, d *draw, r *release) (report.Release, error) {
	j, event := p.job, p.onPopulation(d.design.Event(r.plan.Event))
	g, err := guarantee(event, r.answer)
	if err != nil {
		return report.Release{}, err
	}
	about := r.mech.About()
	builtin, sha256 := r.mech.Origin()
	entry := report.Release{
		Name: r.job.Name, From: r.job.From,
		Mechanism: report.Mechanism{
			Name: r.job.Mechanism, Version: about.Version, Builtin: builtin, SHA256: sha256, SelfNoising: about.SelfNoising,
		},
		Params: r.job.Params, Target: point(r.job.Guarantee), Sample: r.share, Guarantee: g,
		Positions: report.NewPositions(event, g.Delta),
	}
	for _, e := range r.plan.Errors {
		entry.Expected = append(entry.Expected, expectedError(j, d, e))
	}
	rate := 0.0
	if s := sampling(d.design); s != nil {
		if a := report.NewAmplification(s, j.Dataset.Relation, point(d.target)); a != nil {
			rate = a.Rate
		}
	}
	entry.Verdict = compared(r, rate, entry.Expected)
	for _, f := range fields(r.plan.Output) {
		if !d.withheld(j, f.Name) {
			entry.Fields = append(entry.Fields, f)
		}
	}
	return entry, nil
}

// guarantee writes down one answer of the accountant.
func guarantee(e privacy.Event, a privacy.Answer) (report.Guarantee, error) {
	encoded, err := expr.Encode(e)
	if err != nil {
		return report.Guarantee{}, err
	}
	g := report.Guarantee{
		Epsilon: a.Epsilon, Delta: a.Delta, Relation: a.Relation, Method: a.Method,
		Methods: map[string]float64{}, Event: encoded, EventText: expr.Describe(e),
	}
	for _, name := range slices.Sorted(maps.Keys(a.Methods)) {
		g.Methods[name] = a.Methods[name].Epsilon
	}
	for _, u := range a.Unsupported {
		reason := u.Reason
		if u.Path != "" {
			reason = u.Path + ": " + reason
		}
		g.Unsupported = append(g.Unsupported, report.Unsupported{Method: u.Method, Reason: reason})
	}
	for _, c := range a.Claimed {
		g.Claimed = append(g.Claimed, report.Claim{Source: c.Source, Epsilon: c.Epsilon, Delta: c.Delta, Why: c.Why})
	}
	return g, nil
}

// describeKept is the draw's account, for the report.
func describeKept(k *keptDraw) *report.Kept {
	if k == nil {
		return nil
	}
	up := func(l ledger.Limit) privacy.Point {
		return privacy.Point{Epsilon: job.Up(l.Epsilon), Delta: job.Up(l.Delta)}
	}
	u := k.use
	out := &report.Kept{Reused: k.reused(), SampleBefore: up(u.Before), SampleAfter: up(u.After), Before: up(u.ChargedBefore),
		After: up(u.ChargedAfter), Charged: up(u.Difference())}
	if k.sample != nil {
		out.ID, out.Jobs = k.sample.ID, k.sample.Uses
	}
	return out
}

// datasetReport is what is public about the table.
func datasetReport(j *job.Job) report.Dataset {
	d := &j.Dataset
	return report.Dataset{ID: d.ID, Relation: d.Relation, Unit: d.Unit, UnitName: d.UnitName, UnitPlural: d.UnitPlural,
		UnitColumn: d.Key.Column, Population: d.Size}
}
