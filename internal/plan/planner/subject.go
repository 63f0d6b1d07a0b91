package planner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/report"
)

// invented is the name of a sample that a study adds to a job.
const invented = "planned"

// subject is the release under study.
type subject struct {
	job     *job.Job
	release job.Release
	path    string // of the release in the job
	column  *job.Column
	sample  *job.Sample      // that it is made from, nil for the table
	model   *model           // what is assumed, nil where nothing is
	whole   *job.Job         // with its budget.spend, where job has the shares that it leads to
	half    bool             // what is asked is about the keys, and so is what is varied
	strata  map[string]int64 // records of the largest units of the public frame, once it was read
	table   collection       // how the table was made, in a comparison
	s       Settings

	statistic sdk.Statistic // what the release estimates, "" where its plan does not say
	even      *report.Even  // its error where rows are spread evenly, nil where nothing public says it

	step, steps, told int // of the study, for the progress that simulations add to
}

func newSubject(ctx context.Context, j *job.Job, s Settings) (*subject, error) {
	whole := j
	if s.Price != nil && j.Budget.Spend != nil {
		var err error
		if j, err = shared(ctx, j, s.Price); err != nil {
			return nil, err
		}
	}
	if s.Repetitions == 0 {
		s.Repetitions = 400
	}
	if s.Price == nil || len(j.Releases) == 0 {
		return nil, errors.New("a job with a release, and a way to price it, are needed")
	}
	u := &subject{job: j, whole: whole, s: s}
	at := slices.IndexFunc(j.Releases, func(r job.Release) bool { return r.From != job.All })
	if s.Release != "" {
		at = slices.IndexFunc(j.Releases, func(r job.Release) bool { return r.Name == s.Release })
		if at < 0 {
			names := make([]string, len(j.Releases))
			for i, r := range j.Releases {
				names[i] = r.Name
			}
			return nil, fmt.Errorf("release: there is no release %q in the job%s", s.Release, meant(s.Release, names...))
		}
	}
	at = max(at, 0)
	u.release, u.path = j.Releases[at], job.Item("releases", at)
	j = j.Of(u.release.Table)
	u.job = j
	if sample, ok := j.Sample(u.release.From); ok {
		u.sample = &sample
	}
	u.column = column(j, u.release.Params)
	if u.column != nil && u.column.Assume != nil {
		var err error
		if u.model, err = newModel(*u.column); err != nil {
			return nil, u.wrong(job.Key("dataset.columns", u.column.Name)+".assume", err.Error(), "a pilot is a public CSV file with a header line")
		}
		u.job = u.momentsOf(u.column, u.model)
	}
	var err error
	u.statistic, err = u.estimates(ctx)
	return u, err
}

// momentsOf is the job where the assumption about a column has the mean and the standard deviation of its model, from which plans
// forecast.
func (u *subject) momentsOf(c *job.Column, m *model) *job.Job {
	out, assume := *u.job, *c.Assume
	assume.Mean, assume.SD = c.Assume.Mean, new(big.Rat).SetFloat64(m.SD)
	if m.KnownMean {
		assume.Mean = new(big.Rat).SetFloat64(m.Mean)
	}
	out.Dataset.Columns = slices.Clone(out.Dataset.Columns)
	for i := range out.Dataset.Columns {
		if out.Dataset.Columns[i].Name == c.Name {
			out.Dataset.Columns[i].Assume = &assume
		}
	}
	return &out
}

// estimates asks the plan of the release what it estimates. A release that is refused here may
// be possible in another way, but nothing more than its noise is then known of it.
func (u *subject) estimates(ctx context.Context) (sdk.Statistic, error) {
	p, _, err := u.priceOr(ctx, variant{from: u.release.From, alone: true})
	if err != nil || len(p.release.Expected) == 0 {
		return "", err
	}
	if e := p.release.Expected[0]; !e.Rank {
		u.even = e.Even
	}
	return sdk.Statistic(p.release.Expected[0].Statistic), nil
}

// shared is the job with the shares that its budget.spend leads to as guarantees.
func shared(ctx context.Context, j *job.Job, price Pricer) (*job.Job, error) {
	r, err := price(ctx, j)
	if err != nil {
		return nil, err
	}
	out := *j
	out.Budget.Spend, out.Releases = nil, slices.Clone(j.Releases)
	for i := range out.Releases {
		x := &out.Releases[i]
		at := slices.IndexFunc(r.Releases, func(o report.Release) bool { return o.Name == x.Name && o.Share != nil })
		if at < 0 {
			continue
		}
		s := r.Releases[at].Share
		if x.Guarantee, err = language.ParseGuarantee(s.Epsilon, s.Delta, s.Rho, x.Guarantee.Delta, j.Dataset.Relation); err != nil {
			return nil, err
		}
		x.Shares = false
	}
	return &out, nil
}

// keyed is the release whose selection of keys the release uses, nil for none.
func (u *subject) keyed() *job.Release { return u.job.Keyed(&u.release) }

// column is the declared column that the parameters name first.
func column(j *job.Job, params json.RawMessage) *job.Column {
	var p struct {
		Column  string   `json:"column"`
		Columns []string `json:"columns"`
	}
	if json.Unmarshal(params, &p) != nil {
		return nil
	}
	if p.Column == "" && len(p.Columns) > 0 {
		p.Column = p.Columns[0]
	}
	for i, c := range j.Dataset.Columns {
		if c.Name == p.Column {
			return &j.Dataset.Columns[i]
		}
	}
	return nil
}

// variant is a way to make the release.
type variant struct {
	from    string      // a sample of the job, job.All, or invented
	sample  *job.Sample // with from == invented
	epsilon *big.Rat    // nil: that of the job
	rho     *big.Rat    // the same in ρ
	spend   *big.Rat    // of the whole job; nil: the shares are as they are
	alone   bool        // nothing else is released from the draw
}

// with is the job with the releases of one draw only (P4: they share its budget),
// made in another way and without a limit: a sweep asks what would be.
func (u *subject) with(v variant) *job.Job {
	j := *u.job
	if v.spend != nil {
		j = *u.whole
		spend := *j.Budget.Spend
		if j.Budget.Spend = &spend; spend.Rho != nil {
			spend.Rho = v.spend
		} else {
			spend.Epsilon = v.spend
		}
		j.Budget.Limit = unlimited
		return &j
	}
	j.Budget.Limit = unlimited
	if v.sample != nil {
		s := *v.sample
		s.Name = invented
		j.Samples = append(slices.Clone(j.Samples), s)
	}
	j.Releases = nil
	for _, r := range u.job.Releases {
		if r.Measures != "" && r.Name != u.release.Name {
			continue
		}
		if r.Bounds == "" && (r.From != u.release.From || v.alone && r.Name != u.release.Name) {
			continue // what finds the bounds of a column stays
		}
		if o := u.job.Keyed(&r); v.alone && o != nil {
			keys := *o.Keys // the other release is not there to select them
			if o.Name != r.Name {
				keys.Guarantee = o.Selecting()
			}
			r.Keys = &keys
		}
		r.From = v.from
		if o := u.keyed(); u.half && v.epsilon != nil && (r.Name == o.Name || v.alone) && !r.Tallied() {
			keys := *r.Keys
			keys.Guarantee.Epsilon = v.epsilon
			r.Keys = &keys
		} else if r.Name == u.release.Name && v.epsilon != nil && (!u.half || r.Tallied()) {
			r.Guarantee.Epsilon = v.epsilon
		}
		if r.Name == u.release.Name && v.rho != nil {
			if g, err := job.InRho(v.rho, r.Guarantee.Delta, j.Dataset.Relation); err == nil {
				r.Guarantee = g
			}
		}
		j.Releases = append(j.Releases, r)
	}
	return &j
}

// unlimited is a limit that no study meets.
var unlimited = job.Guarantee{Epsilon: big.NewRat(1_000_000, 1), Delta: big.NewRat(999_999, 1_000_000)}

// priced is a variant with its plan.
type priced struct {
	job     *job.Job
	release report.Release
	draw    report.Draw
	keys    *report.Keys // the selection whose keys the release has, nil for none
}

func (u *subject) price(ctx context.Context, v variant) (priced, error) {
	p := priced{job: u.with(v)}
	if p.job.Budget.Spend != nil {
		if _, ok := p.job.Rest(); !ok {
			return p, job.Problems{u.job.Problem("budget.spend", "leaves nothing to divide", "")}
		}
	}
	r, err := u.s.Price(ctx, p.job)
	if err != nil {
		return p, err
	}
	if o := u.keyed(); o != nil {
		for i := range r.Releases {
			if r.Releases[i].Name == o.Name {
				p.keys = r.Releases[i].Keys
			}
		}
	}
	for _, x := range r.Releases {
		if x.Name == u.release.Name {
			p.release = x
		}
	}
	for _, d := range r.Draws {
		if d.Name == v.from {
			p.draw = d
		}
	}
	return p, nil
}

// priceOr is price, or why the job language or a mechanism refuses the variant.
func (u *subject) priceOr(ctx context.Context, v variant) (p priced, refused string, err error) {
	p, err = u.price(ctx, v)
	var problems job.Problems
	switch {
	case err != nil && ctx.Err() != nil:
		return p, "", ctx.Err()
	case errors.As(err, &problems) && len(problems) > 0:
		return p, refusal(p.job, u.release.Name, problems[0]), nil
	}
	return p, "", err
}

// refusal returns what a problem of a job says, with the name of the release that it is about where that is another one: all releases
// from a draw share its budget.
func refusal(j *job.Job, name string, p job.Problem) string {
	text := p.Message
	if _, after, ok := strings.Cut(text, "(PLUGIN_REFUSED): "); ok {
		text = after
	}
	for i, r := range j.Releases {
		if r.Name != name && strings.HasPrefix(p.Path+".", job.Item("releases", i)+".") {
			return r.Name + ", which is made from the same draw: " + text
		}
	}
	return text
}

// full is the release from the whole table.
func (u *subject) full(ctx context.Context, epsilon *big.Rat) (Accuracy, error) {
	p, err := u.price(ctx, variant{from: job.All, epsilon: epsilon})
	if err != nil {
		return Accuracy{Unknown: "the whole table has no such plan"}, ctx.Err()
	}
	return u.accuracy(ctx, p, design{kind: "full"})
}

// method is the way to draw where a study chooses: that of the job, or simple random
// sampling where the number of units is public, else Poisson.
func (u *subject) method() job.Method {
	switch {
	case u.sample != nil:
		return u.sample.Method
	case u.job.Dataset.Relation == privacy.ReplaceOne:
		return job.SRSWOR
	}
	return job.Poisson
}

// population is the public number of units, or a public lower bound.
func (u *subject) population() int64 {
	return max(u.job.Dataset.Size, u.job.Dataset.AtLeast)
}

// at is the variant of a rate or of a size.
func (u *subject) at(m job.Method, rate float64, size int64) (variant, design, error) {
	n := u.population()
	if m == job.Multistage || m == job.Stratified {
		if size > 0 {
			if n == 0 {
				return variant{}, design{}, u.wrong("dataset.size", "is needed to sweep the size of a sample", "or sweep the rate")
			}
			rate = float64(size) / float64(n)
		}
		return u.scaled(rate)
	}
	if m == job.Poisson {
		if size > 0 && n > 0 {
			rate = float64(size) / float64(n)
		}
		if rate >= 1 {
			return variant{from: job.All}, design{kind: "full", rate: 1, size: n}, nil
		}
		r := decimal(rate)
		rate, _ = r.Float64()
		return variant{from: invented, sample: &job.Sample{Method: job.Poisson, Rate: r}}, design{kind: "poisson", rate: rate}, nil
	}
	if n == 0 {
		return variant{}, design{},
			u.wrong("dataset.size", "is needed for a sample of fixed size", "or give dataset.at_least, a public lower bound")
	}
	if size == 0 {
		size = max(1, int64(math.Round(rate*float64(n))))
	}
	if size >= n {
		return variant{from: job.All}, design{kind: "full", rate: 1, size: n}, nil
	}
	return variant{from: invented, sample: &job.Sample{Method: job.SRSWOR, Size: size}},
		design{kind: "srswor", rate: float64(size) / float64(n), size: size}, nil
}

// current is the design of the job itself.
func (u *subject) current() design {
	if u.sample == nil {
		return design{kind: "full", rate: 1, size: u.population()}
	}
	switch u.sample.Method {
	case job.SRSWOR:
		return design{kind: "srswor", size: u.sample.Size, rate: float64(u.sample.Size) / float64(max(1, u.population()))}
	case job.Poisson:
		rate, _ := u.sample.Rate.Float64()
		return design{kind: "poisson", rate: rate}
	}
	d, err := u.framed(*u.sample)
	if err != nil {
		return design{kind: string(u.sample.Method)}
	}
	return d
}

// wrong is a problem of the job, with its place in the file.
func (u *subject) wrong(path, message, hint string) error {
	return job.Problems{u.job.Problem(path, message, hint)}
}

// decimal is x to six digits, exactly as it would be written in a job.
func decimal(x float64) *big.Rat {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(x, 'g', 6, 64))
	if !ok {
		return new(big.Rat)
	}
	return r
}
