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

	"github.com/dprelease/dprelease/internal/job"
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
	strata  map[string]int64 // records of the largest units of the public frame, once it was read
	s       Settings

	step, steps, told int // of the study, for the progress that simulations add to
}

func newSubject(j *job.Job, s Settings) (*subject, error) {
	if s.Repetitions == 0 {
		s.Repetitions = 400
	}
	if s.Price == nil || len(j.Releases) == 0 {
		return nil, errors.New("a job with a release, and a way to price it, are needed")
	}
	u := &subject{job: j, s: s}
	at := slices.IndexFunc(j.Releases, func(r job.Release) bool { return r.From != job.Table })
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
	if sample, ok := j.Sample(u.release.From); ok {
		u.sample = &sample
	}
	u.column = column(j, u.release.Params)
	if u.release.Guarantee.Rho != nil {
		return nil, u.wrong(u.path+".guarantee", "is a rho, and these questions are about an epsilon", "give the release epsilon and delta to ask them")
	}
	if u.column != nil && u.column.Assume != nil {
		var err error
		if u.model, err = newModel(*u.column); err != nil {
			return nil, u.wrong(job.Key("dataset.columns", u.column.Name)+".assume", err.Error(), "a pilot is a public CSV file with a header line")
		}
	}
	return u, nil
}

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
	from    string      // a sample of the job, job.Table, or invented
	sample  *job.Sample // with from == invented
	epsilon *big.Rat    // nil: that of the job
	alone   bool        // nothing else is released from the draw
}

// with is the job with the releases of one draw only (P4: they share its budget),
// made in another way and without a limit: a sweep asks what would be.
func (u *subject) with(v variant) *job.Job {
	j := *u.job
	j.Budget.Limit = job.Guarantee{Epsilon: big.NewRat(1_000_000, 1), Delta: big.NewRat(999_999, 1_000_000)}
	if v.sample != nil {
		s := *v.sample
		s.Name = invented
		j.Samples = append(slices.Clone(j.Samples), s)
	}
	j.Releases = nil
	for _, r := range u.job.Releases {
		if r.From != u.release.From || v.alone && r.Name != u.release.Name {
			continue
		}
		if o := u.job.Keyed(&r); v.alone && o != nil {
			r.Keys = o.Keys // the other release is not there to select them
		}
		r.From = v.from
		if r.Name == u.release.Name && v.epsilon != nil {
			r.Guarantee.Epsilon = v.epsilon
		}
		j.Releases = append(j.Releases, r)
	}
	return &j
}

// priced is a variant with its plan.
type priced struct {
	job     *job.Job
	release report.Release
	draw    report.Draw
}

func (u *subject) price(ctx context.Context, v variant) (priced, error) {
	p := priced{job: u.with(v)}
	r, err := u.s.Price(ctx, p.job)
	if err != nil {
		return p, err
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

// full is the release from the whole table.
func (u *subject) full(ctx context.Context, epsilon *big.Rat) (Accuracy, error) {
	p, err := u.price(ctx, variant{from: job.Table, epsilon: epsilon})
	if err != nil {
		return Accuracy{Unknown: "the whole table has no such plan"}, ctx.Err()
	}
	return u.accuracy(ctx, p, design{kind: "full"})
}

// method is how rows are drawn where a study chooses: as in the job, or simple
// random sampling where the number of units is public, else Poisson.
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
			return variant{from: job.Table}, design{kind: "full", rate: 1, size: n}, nil
		}
		r := decimal(rate)
		rate, _ = r.Float64()
		return variant{from: invented, sample: &job.Sample{Method: job.Poisson, Rate: r}}, design{kind: "poisson", rate: rate}, nil
	}
	if n == 0 {
		return variant{}, design{}, u.wrong("dataset.size", "is needed for a sample of fixed size", "or give dataset.at_least, a public lower bound")
	}
	if size == 0 {
		size = max(1, int64(math.Round(rate*float64(n))))
	}
	if size >= n {
		return variant{from: job.Table}, design{kind: "full", rate: 1, size: n}, nil
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
