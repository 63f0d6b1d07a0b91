package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/rows/keys"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/describe"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/report"
	"github.com/dprelease/dprelease/samplers"
)

// Describe writes down a plan: a report without results.
func Describe(p *plan.Priced, version string) (report.Report, error) {
	j := p.Job
	charged, answer, again, err := p.Charged()
	if err != nil {
		return report.Report{}, err
	}
	g, err := guarantee(charged, answer)
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
	r.Publication = Words(j.Publication)
	r.Dataset.PublicColumns = p.PublicColumns()
	if s := p.Series(); s != nil {
		r.Dataset.Periods = &report.Periods{Count: len(s.Periods), AtMost: s.AtMost, Apart: s.Apart, Held: string(s.Held), Cost: s.Costs[1],
			Life: s.Costs[2], Pure: s.Pure}
	}
	if c := j.Dataset.Collected; c != nil {
		r.Dataset.Collected = collected(c, p.Collection().Facts(), j.Dataset.Size)
		r.Dataset.Collected.Known = p.Table == nil && c.Method != job.Rotation
	}
	if panel, ok := j.Rotates(); ok {
		r.Dataset.Panel = &report.Panel{Wave: panel.Wave, Waves: panel.Waves, Collected: !panel.Drawn, Again: again}
	}
	r.Believed = believed(p)
	for _, l := range p.Levels() {
		level := report.Level{Name: l.Name, AtMost: l.AtMost, Epsilon: l.Cost.Epsilon, Delta: l.Cost.Delta, Below: l.Below}
		if level.Of = report.LevelMember; l.AtMost > 0 {
			level.Of = report.LevelGroup
		} else {
			level.Table = j.Dataset.Key.Members.Table
		}
		r.Levels = append(r.Levels, level)
	}
	r.Spend = describeSpend(p)
	for i, d := range p.Draws {
		entry, err := describeDraw(p, d)
		if err != nil {
			return r, err
		}
		entry.PublicColumns = p.Plan.Draws[i].PublicColumns(j)
		r.Draws = append(r.Draws, entry)
		for _, rel := range d.Releases {
			entry, err := describeRelease(p, d, rel)
			if err != nil {
				return r, err
			}
			entry.Verdict = published(p, rel)
			r.Releases = append(r.Releases, entry)
		}
	}
	order := map[string]int{}
	for i, rel := range p.Releases() {
		order[rel.Job.Name] = i
	}
	slices.SortFunc(r.Releases, func(a, b report.Release) int { return order[a.Name] - order[b.Name] })
	if p.Table != nil {
		r.Collection = describeKept(p.Table)
		r.Collection.ID = p.Table.Kept.ID
	}
	return r, nil
}

// believed lists what the guarantee of a plan rests on, and nothing can check. // P36, P38
func believed(p *plan.Priced) []report.Belief {
	j, series := p.Job, p.Series()
	panel, rotates := j.Rotates()
	rests := map[report.Belief]bool{
		report.BelievedKeys:       rotates,
		report.BelievedWaves:      rotates && !panel.Drawn,
		report.BelievedCap:        series != nil && series.Held == plan.HeldByCap,
		report.BelievedPeriods:    series != nil && series.Held == "" && !planned.StepOf(j).Alike,
		report.BelievedCollection: p.Table != nil,
		report.BelievedSlices:     j.Dataset.Slice != nil,
		report.BelievedLookup: slices.ContainsFunc(j.TableNames(), func(name string) bool {
			return slices.ContainsFunc(j.Of(name).Dataset.Lookups, func(l job.Lookup) bool { return l.Public })
		}),
		report.BelievedPlugin: slices.ContainsFunc(p.Releases(), func(r *plan.PricedRelease) bool {
			builtin, _ := r.Mech.Origin()
			return !builtin && len(r.Plan.Queries) == 0 // P39
		}),
	}
	return slices.DeleteFunc(slices.Clone(report.Beliefs), func(b report.Belief) bool { return !rests[b] })
}

// published warns where the frame of the job publishes what a release counts. The count
// then tells nothing that is not known, and its noise protects nothing: the neighbours
// of a job with such a frame keep these columns (P27).
func published(p *plan.Priced, rel *plan.PricedRelease) string {
	builtin, _ := rel.Mech.Origin()
	var params struct {
		By any `json:"by"`
	}
	if rel.Plan.Estimates() != sdk.StatisticCount || !builtin || json.Unmarshal(rel.Job.Params, &params) != nil {
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
	by = append(by, rel.Job.By...)
	if planned.Filtered(p.Job, &rel.Job) {
		return ""
	}
	for _, d := range p.Draws {
		f, ok := d.Design.(samplers.Framed)
		if ok && f.Frame() != nil && len(by) > 0 && f.Frame().Records() > 0 && ledger.KeepsAll(f.Frame().Columns(), by) {
			return "the frame of sample " + d.Name + " publishes the exact numbers by " + strings.Join(by, " and ") +
				": this count tells nothing that is not known, and the job protects nobody's place there"
		}
	}
	return ""
}

func describeDraw(p *plan.Priced, d *plan.PricedDraw) (report.Draw, error) {
	relation := p.Job.Dataset.Relation
	g, err := guarantee(p.OnPopulation(d.Event), d.Answer)
	if err != nil {
		return report.Draw{}, err
	}
	entry := report.Draw{
		Name: d.Name, Design: d.Design.Kind(), Target: plan.Point(d.Target), Sample: d.Sample,
		SampleRelations: d.Relations, Guarantee: g,
	}
	for _, r := range d.Releases {
		entry.Releases = append(entry.Releases, r.Job.Name)
	}
	entry.Kept = describeKept(d)
	if s := samplers.Sampling(d.Design); s != nil {
		target := entry.Target
		if p.Table != nil {
			target = d.OnTable()
		}
		entry.Amplification = report.NewAmplification(s, relation, target)
		_, wave := s.(privacy.Rotation) // nobody draws less for it
		if eff, err := privacy.Efficiency(s, relation, target); err == nil && !wave {
			if entry.Amplification != nil && (d.Arrival != nil || d.Kept != nil) {
				eff = entry.Amplification.Rate * d.Sample.Epsilon / target.Epsilon
			}
			entry.Efficiency = eff
		}
		entry.SampleArrival = d.Arrival
		if wave {
			entry.Design = privacy.Name(s)
		}
	}
	return entry, nil
}

// noiseRatio is the noise of a release over that of the full table, 0 where that is not known.
func noiseRatio(r *plan.PricedRelease) float64 {
	for i, e := range r.Plan.Errors {
		if i < len(r.Full) && e.NoiseSD > 0 && r.Full[i].NoiseSD > 0 {
			return e.NoiseSD / r.Full[i].NoiseSD
		}
	}
	return 0
}

// resultOf returns what a result of a mechanism rests on, "" where it comes with the
// program.
func resultOf(builtin bool, r *plan.PricedRelease, again bool) string {
	switch {
	case builtin:
		return ""
	case r.Plan.Finish == nil || again: // it plans again once rows were read
		return report.ResultTrusted
	case len(r.Plan.Queries) > 0:
		return report.ResultEnforced
	}
	return report.ResultApart
}

func describeRelease(p *plan.Priced, d *plan.PricedDraw, r *plan.PricedRelease) (report.Release, error) {
	j, event := p.Job, p.OnPopulation(d.Design.Event(r.Event()))
	g, err := guarantee(event, r.Answer)
	if err != nil {
		return report.Release{}, err
	}
	about := r.Mech.About()
	builtin, sha256 := r.Mech.Origin()
	late := j.Of(r.Job.Table).Dataset.CapOf(&r.Job) // a cap that is chosen in private is found late
	entry := report.Release{
		Name: r.Job.Name, From: r.Job.From,
		Mechanism: report.Mechanism{
			Name: r.Job.Mechanism, Version: about.Version, Builtin: builtin, SHA256: sha256, SelfNoising: about.SelfNoising,
			Sandbox: r.Mech.Confined(), Result: resultOf(builtin, r, d.KeysOf(j, r) != nil && !r.Apart || late != nil && late.Choice != nil),
		},
		Params: r.Job.Params, Interval: r.Level(), Where: r.Job.Where.Text, Having: r.Job.Having.Text, By: r.Job.By,
		Target: plan.Point(r.Job.Guarantee), Sample: r.Share, Guarantee: g,
		Positions: report.NewPositions(event, g.Delta),
	}
	if asked, cost, err := r.Rho(d.PlannedDraw, j.Dataset.Relation); err != nil {
		return report.Release{}, err
	} else if asked != nil {
		entry.Rho = &report.Rho{Asked: rational.Format(asked), Charged: ledger.Up(cost)}
	}
	entry.Share = describeShare(p, r)
	if entry.Keys, err = describeKeys(p, d, r); err != nil {
		return report.Release{}, err
	}
	entry.Priced()
	if s := r.Job.Suppress; s != nil && s.Below != nil {
		entry.Suppress = &report.Suppress{Below: rational.Up(s.Below), Column: r.SuppressBy()}
	}
	entry.Weights = weightsOf(j, d, r)
	entry.Limits = describeLimits(p, r)
	if entry.Limits.Text = report.LimitText(entry, datasetReport(j)); len(entry.Limits.Text) == 0 {
		entry.Limits = nil
	}
	for _, e := range r.Expected() {
		likely := likely(r, e.ExpectedError, expectedError(j, d.Design, &r.Job, e.ExpectedError))
		if likely.Note += insteadText(j, d.Design, r, likely); r.Instead != nil && e.Ratio() {
			likely.Ratio = true
		}
		likely.Beside, likely.OneEnd = e.Beside, oneEnd(r, e.ExpectedError)
		entry.Expected = append(entry.Expected, likely)
	}
	entry.NoiseRatio = noiseRatio(r)
	for i, e := range entry.Expected {
		if r.Series != nil {
			e.Sampling = nil // a series draws no sample
		}
		entry.Expected[i] = overBounds(r, e)
	}
	for _, f := range fields(r.Output()) {
		if !r.Withheld(j, f.Name) {
			entry.Fields = append(entry.Fields, f)
		}
	}
	return entry, nil
}

// overBounds says an error in units of bounds that are found before the release as a remark:
// nobody knows yet how large it is.
func overBounds(r *plan.PricedRelease, e report.ExpectedError) report.ExpectedError {
	columns := r.UnitsOf(e.Field)
	if len(columns) == 0 {
		return e
	}
	times := "times the bound that is found for " + strings.Join(columns, " and ")
	if e.NoiseSD > 0 {
		times = fmt.Sprintf("noise of standard deviation %.4g, ±%.4g in 95 of 100 cases, %s", e.NoiseSD, e.Half95, times)
	}
	return report.ExpectedError{Field: e.Field, Note: strings.TrimPrefix(e.Note+"; ", "; ") + times}
}

// drawnFrom reports whether rows are drawn from the table. How the table itself was drawn does
// not matter: the weights of its rows stand for that.
func drawnFrom(d samplers.Design) bool {
	if g, ok := d.(*samplers.Gathered); ok {
		d = g.Draw()
	}
	return !samplers.Whole(d)
}

// weightsOf are the weights of a survey that a release has, nil for none.
func weightsOf(j *job.Job, d *plan.PricedDraw, r *plan.PricedRelease) *report.Weights {
	g, w := r.Weights, j.Dataset.WeightsOf(&r.Job)
	if g == nil {
		return nil
	}
	out := &report.Weights{Column: w.Column, AtMost: rational.Up(w.AtMost), Step: g.Step, Draw: drawnFrom(d.Design)}
	out.Least, out.Most = g.Bounds()
	if s := w.Shrink; s != nil {
		out.Shrink = &report.Shrink{To: rational.Up(s.To), Keep: rational.Up(s.Keep)}
	}
	return out
}

// describeKeys describes how the values of a group column are selected, nil where all are
// listed.
func describeKeys(p *plan.Priced, d *plan.PricedDraw, r *plan.PricedRelease) (*report.Keys, error) {
	k := d.KeysOf(p.Job, r)
	if k == nil {
		return nil, nil
	}
	out := &report.Keys{Column: k.Column}
	if k.Job.Name != r.Job.Name {
		out.From = k.Job.Name
		return out, nil
	}
	if out.Top = k.Job.Keys.Top; out.Top == 0 {
		out.AtMost, out.ByChance = k.Job.Keys.AtMost, !k.Rule.Counts()
	}
	if !k.Job.Tallied() {
		g, err := guarantee(p.OnPopulation(d.Design.Event(k.Rule.Event())), k.Answer)
		if err != nil {
			return nil, err
		}
		target, sample := plan.Point(k.Job.Keys.Guarantee), k.Share
		out.Target, out.Sample, out.Guarantee = &target, &sample, &g
	}
	if t, ok := k.Rule.(*keys.Threshold); ok {
		out.Noise, out.SD, out.Above = t.Law(), t.Deviation(), t.At()
	}
	rate := 1.0
	if s := samplers.Sampling(d.Design); s != nil {
		rate = 0
		if a := report.NewAmplification(s, p.Job.Dataset.Relation, plan.Point(d.Target)); a != nil {
			rate = a.Rate
		}
	}
	for _, chance := range []float64{0.5, 0.95} {
		units, ok := keys.SizeSampled(k.Rule, rate, chance)
		if !ok {
			continue
		}
		size := report.KeySize{Chance: chance, Units: units}
		if k.Whole != nil {
			size.Whole, _ = keys.Size(k.Whole, chance)
		}
		out.Sizes = append(out.Sizes, size)
	}
	return out, nil
}

// guarantee writes down one answer of the accountant.
func guarantee(e privacy.Event, a privacy.Answer) (report.Guarantee, error) {
	encoded, err := privacy.Canonical(e)
	if err = errors.Join(err, privacy.Validate(e)); err != nil {
		return report.Guarantee{}, err
	}
	g := report.Guarantee{
		Epsilon: a.Epsilon, Delta: a.Delta, Relation: a.Relation, Method: a.Method, Methods: map[string]float64{},
		Unsupported: a.Unsupported, Claimed: a.Claimed, Event: encoded, EventText: describe.Event(e),
	}
	for name, bound := range a.Methods {
		g.Methods[name] = bound.Epsilon
	}
	return g, nil
}

// describeKept is the draw's account, for the report.
func describeKept(d *plan.PricedDraw) *report.Kept {
	if d.Kept == nil {
		return nil
	}
	up := func(l ledger.Limit) privacy.Point {
		return privacy.Point{Epsilon: rational.Up(l.Epsilon), Delta: rational.Up(l.Delta)}
	}
	u, k := d.Use, d.Kept
	out := &report.Kept{Reused: k.Reused(), SampleBefore: up(u.Before.Spent), SampleAfter: up(u.After.Spent), Before: up(u.Before.Charged),
		After: up(u.After.Charged), Charged: up(u.Adds())}
	if k.Node != nil {
		out.ID, out.Jobs = k.Node.ID, k.Node.Uses
	}
	return out
}

// fields are the columns that a mechanism planned, in the words of the report.
func fields(planned []sdk.Field) []report.Field {
	var out []report.Field
	for _, f := range planned {
		field := report.Field{Name: f.Name, Type: string(f.Type), Doc: f.Doc}
		if f.Name == sdk.FlagField {
			field.Flags = slices.DeleteFunc(slices.Clone(f.Texts), func(reason string) bool { return reason == "" })
		}
		out = append(out, field)
	}
	return out
}
