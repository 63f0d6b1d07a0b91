package pipeline

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/expr"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/report"
	"github.com/dprelease/dprelease/samplers"
)

// newReport writes down a priced plan.
func newReport(p *Plan, wrap func(privacy.Event) privacy.Event, event privacy.Event, answer privacy.Answer) (report.Report, error) {
	j := p.job
	g, err := guarantee(event, answer)
	if err != nil {
		return report.Report{}, err
	}
	r := report.Report{
		Version:   report.Version,
		Tool:      report.Tool{Name: "dprelease"},
		Job:       report.Job{Name: j.Name, Digest: j.Digest()},
		Dataset:   datasetReport(j),
		Guarantee: g,
	}
	if c := j.Dataset.Collected; c != nil {
		r.Dataset.Collected = fmt.Sprintf("%s of %d units", c.Method, c.Population)
	}
	for _, d := range p.draws {
		entry, err := d.describe(wrap, j.Dataset.Relation)
		if err != nil {
			return r, err
		}
		entry.PublicColumns = d.publicColumns(j)
		r.Draws = append(r.Draws, entry)
		for _, c := range entry.PublicColumns {
			if !contains(r.Dataset.PublicColumns, c) {
				r.Dataset.PublicColumns = append(r.Dataset.PublicColumns, c)
			}
		}
		for _, rel := range d.releases {
			entry, err := rel.describe(j, d, wrap)
			if err != nil {
				return r, err
			}
			if known := p.published(rel); known != "" {
				entry.Verdict = strings.TrimPrefix(entry.Verdict+"; "+known, "; ")
			}
			r.Releases = append(r.Releases, entry)
		}
	}
	slices.SortStableFunc(r.Releases, func(a, b report.Release) int { return p.order(a.Name) - p.order(b.Name) })
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

// published says that the frame of the job publishes what a release counts. The count
// then tells nothing that is not known, and its noise protects nothing: the neighbours
// of a job with such a frame keep these columns (P27).
func (p *Plan) published(rel *release) string {
	var params struct {
		By  any    `json:"by"`
		Sum string `json:"sum"`
	}
	if rel.job.Mechanism != "count" || !rel.mech.builtin || json.Unmarshal(rel.job.Params, &params) != nil || params.Sum != "" {
		return ""
	}
	var by []string
	switch v := params.By.(type) {
	case string:
		by = []string{v}
	case []any:
		for _, name := range v {
			by = append(by, fmt.Sprint(name))
		}
	}
	for _, d := range p.draws {
		f, ok := d.design.(framed)
		if ok && len(by) > 0 && f.Frame().Records() > 0 && ledger.KeepsAll(f.Frame().Columns(), by) {
			return "the frame of sample " + d.name + " publishes the exact numbers by " + strings.Join(by, " and ") + ": this count tells nothing that is not known, and the job protects nobody's place there"
		}
	}
	return ""
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
			if c, ok := r.public.Column(name); ok && c.Immutable && !contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

func (d *draw) describe(wrap func(privacy.Event) privacy.Event, relation privacy.Relation) (report.Draw, error) {
	g, err := guarantee(wrap(d.event), d.answer)
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
	entry.Kept = d.kept.describe()
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
func (r *release) compared(rate float64, expected []report.ExpectedError) string {
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

func (r *release) describe(j *job.Job, d *draw, wrap func(privacy.Event) privacy.Event) (report.Release, error) {
	g, err := guarantee(wrap(d.design.Event(r.plan.Event)), r.answer)
	if err != nil {
		return report.Release{}, err
	}
	entry := report.Release{
		Name: r.job.Name, From: r.job.From,
		Mechanism: report.Mechanism{
			Name: r.job.Mechanism, Version: r.mech.about.Version, Builtin: r.mech.builtin,
			SHA256: r.mech.sha256, SelfNoising: r.mech.about.SelfNoising,
		},
		Params: r.job.Params, Target: point(r.job.Guarantee), Sample: r.share, Guarantee: g,
		Positions: report.NewPositions(wrap(d.design.Event(r.plan.Event)), g.Delta),
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
	entry.Verdict = r.compared(rate, entry.Expected)
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
