package plan

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/keys"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// Keys is the private selection of the values of a group column that nobody lists (P25):
// a part of a draw with a price of its own. Releases with the same groups of the same rows
// share it.
type Keys struct {
	index  int         // of the release that says what it may cost
	Job    job.Release // that release
	Column string      // the group column
	Share  privacy.Point
	Rule   keys.Rule
	Whole  keys.Rule // what the full table would have allowed, nil where nothing is drawn
	cost   float64
	Answer privacy.Answer // of the selection alone, on the population
}

func (k *Keys) path() string { return job.Key(job.Item("releases", k.index), "keys") }

// keysIn are the selections of a draw, one for each release that says what one may cost.
func keysIn(j *job.Job, from string) []*Keys {
	var out []*Keys
	for i := range j.Releases {
		if r := &j.Releases[i]; r.From == from && r.Keys != nil && r.Keys.From == "" {
			out = append(out, &Keys{index: i, Job: *r, Column: r.Unlisted(&j.Dataset)})
		}
	}
	return out
}

// KeysOf is the selection whose values a release groups by, nil where all are listed.
func (d *Draw) KeysOf(j *job.Job, r *Release) *Keys {
	from := j.Keyed(&r.Job)
	if from == nil {
		return nil
	}
	at := slices.IndexFunc(d.Keys, func(k *Keys) bool { return k.Job.Name == from.Name })
	if at < 0 {
		return nil
	}
	return d.Keys[at]
}

// plan finds the rule that keeps to the share of the selection, under every relation that
// the draw demands.
func (k *Keys) plan(j *job.Job, d *Draw) error {
	rule, err := ruleFor(j, k.Share, d.Relations)
	if err != nil {
		return err
	}
	k.Rule, k.cost = rule, 0
	for _, rel := range d.Relations {
		a, err := privacy.EpsilonAt(rule.Event(), rel, k.Share.Delta)
		if err != nil {
			return err
		}
		k.cost = math.Max(k.cost, a.Epsilon)
	}
	if k.cost > k.Share.Epsilon {
		return fmt.Errorf("the selection spends more than its share (ε %.6g of %.6g)", k.cost, k.Share.Epsilon)
	}
	return nil
}

func ruleFor(j *job.Job, target privacy.Point, relations []privacy.Relation) (keys.Rule, error) {
	w := keys.Want{Relations: relations, Keys: 1,
		Target: privacy.Point{Epsilon: target.Epsilon * keptBack, Delta: target.Delta * keptBack}}
	if j.Dataset.Cap != nil {
		w.Keys = j.Dataset.Cap.Groups
	}
	return keys.Calibrate(w)
}

// whole finds what the full table would have allowed at the same guarantee.
func (k *Keys) whole(j *job.Job, relation privacy.Relation) keys.Rule {
	r, err := ruleFor(j, Point(k.Job.Keys.Guarantee), []privacy.Relation{relation})
	if err != nil {
		return nil
	}
	return r
}

// part is something that a draw releases, and its price.
type part struct {
	name      string // as a failure calls it
	guarantee job.Guarantee
	share     privacy.Point
	cost      float64
	event     privacy.Event
	answer    *privacy.Answer // to be filled in
}

// parts are all that is released from a draw: its releases, and the selections of their
// keys.
func (d *Draw) parts() []part {
	var out []part
	for _, r := range d.Releases {
		out = append(out, part{"release " + r.Job.Name, r.Job.Guarantee, r.Share, r.cost, r.Event(), &r.Answer})
	}
	for _, k := range d.Keys {
		out = append(out, part{"keys of release " + k.Job.Name, k.Job.Keys.Guarantee, k.Share, k.cost, k.Rule.Event(), &k.Answer})
	}
	return out
}

// eventsOf lists the events of parts.
func eventsOf(parts []part) []privacy.Event {
	out := make([]privacy.Event, len(parts))
	for i, p := range parts {
		out[i] = p.event
	}
	return out
}

// errByKeys says that a mechanism does not repeat its plan for the same question.
var errByKeys = errors.New("makes another plan for the groups that were selected")

// Chosen is a release whose group column has these values: its mechanism is asked again,
// and what it does to the sample must be what was charged.
func (r *Release) Chosen(ctx context.Context, j *job.Job, d *Draw, values []string) (*Release, error) {
	one := *r
	one.values = values
	q, err := newRequest(j, d, &one)
	if err != nil {
		return nil, err
	}
	one.Public, one.Params, one.Cells = q.public, q.params, q.cells
	if one.Apart || one.Cells.Len() == 0 {
		return &one, nil // the mechanism sees one group at a time, or none
	}
	// A unit moves fewer groups where there are few, so that a mechanism may add less noise
	// than was charged, and know it by their number. It is then given spare groups: twice as
	// many as a unit may be in, or as many as it planned for.
	few := 2
	if c := j.Dataset.Cap; c != nil {
		few = int(min(2*c.Groups, int64(r.Cells.Len())))
	}
	for _, to := range []int{0, few, r.Cells.Len()} {
		one.Cells.spare(to)
		one.Public.Columns = slices.Clone(one.Public.Columns)
		at := slices.IndexFunc(one.Public.Columns, func(c sdk.Column) bool { return c.Name == one.Cells.Column })
		one.Public.Columns[at].Domain = one.Cells.Labels()
		if one.Plan, err = r.Mech.Plan(ctx, one.request()); err != nil {
			return nil, err
		}
		if privacy.Equal(one.Plan.Event, r.Plan.Event) && slices.EqualFunc(one.Plan.Output, r.Plan.Output, sameField) && slices.Equal(one.Plan.Columns, r.Plan.Columns) {
			return &one, nil
		}
	}
	return nil, errByKeys
}

// sameField compares two columns of a result, apart from their texts, which name the groups.
func sameField(a, b sdk.Field) bool {
	a.Texts, b.Texts = nil, nil
	return reflect.DeepEqual(a, b)
}

// suppressed is the column of the result that says which of its groups are blank.
const suppressed = "suppressed"

// SuppressBy is the column of the result by which groups are blanked, "" for none.
func (r *Release) SuppressBy() string {
	s := r.Job.Suppress
	if s == nil {
		return ""
	}
	has := func(name string) bool {
		return slices.ContainsFunc(r.Plan.Output, func(f sdk.Field) bool { return f.Name == name })
	}
	switch {
	case s.Column != "":
		return s.Column
	case has("count"):
		return "count"
	case r.Job.Mechanism == "count" && has("estimate"):
		return "estimate"
	}
	return ""
}

// checkSuppress refuses to blank groups by what is no noisy number of the result.
func (r *Release) checkSuppress() error {
	if r.Job.Suppress == nil {
		return nil
	}
	refused := func(path, message string) error {
		return refusals{{".suppress" + path, message, "say suppress.column: one of the result's columns of numbers"}}
	}
	var numbers []string
	for _, f := range r.Plan.Output {
		switch {
		case f.Name == suppressed:
			return refused("", "cannot be used: the mechanism returns a column of that name itself")
		case f.Type != sdk.String:
			numbers = append(numbers, f.Name)
		}
	}
	by := r.SuppressBy()
	switch {
	case by == "":
		return refused("", fmt.Sprintf("needs the column with the noisy number of units: %s returns none that is called count", r.Job.Mechanism))
	case !slices.Contains(numbers, by):
		return refused(".column", fmt.Sprintf("is not a column of numbers that %s returns", r.Job.Mechanism))
	}
	return nil
}

// Blanked is a result in which the groups with a small noisy number are blank. It is
// computed from what is released alone (P25).
func (r *Release) Blanked(result sdk.Result) sdk.Result {
	by := r.SuppressBy()
	at := slices.IndexFunc(result.Columns, func(c sdk.ResultColumn) bool { return c.Name == by })
	if by == "" || at < 0 {
		return result
	}
	numbers, below := result.Columns[at], job.Up(r.Job.Suppress.Below)
	rows := max(len(numbers.Float64), len(numbers.Int64))
	marks, blank := make([]int64, rows), make([]bool, rows)
	for i := range rows {
		value := math.Inf(1)
		if numbers.Float64 != nil {
			value = numbers.Float64[i]
		} else if numbers.Int64 != nil {
			value = float64(numbers.Int64[i])
		}
		if blank[i] = !(value >= below); blank[i] {
			marks[i] = 1
		}
	}
	out := sdk.Result{Columns: slices.Clone(result.Columns)}
	for i := range out.Columns {
		if !slices.ContainsFunc(r.groupColumns(), func(name string) bool { return name == out.Columns[i].Name }) {
			out.Columns[i].Blank = blank
		}
	}
	out.Columns = append(out.Columns, sdk.ResultColumn{Name: suppressed, Int64: marks})
	return out
}

// groupColumns are the columns of the result that say which group a row is about.
func (r *Release) groupColumns() []string {
	if r.Cells == nil {
		return nil
	}
	var names []string
	for _, b := range r.Cells.By {
		names = append(names, b.Name)
	}
	return names
}

// keysProblem places what is wrong with a selection.
func keysProblem(j *job.Job, k *Keys, err error) job.Problem {
	if errors.Is(err, keys.ErrDelta) {
		return j.Problem(k.path()+".guarantee", "leaves no delta to the selection on the sample", "ask for a larger delta")
	}
	return j.Problem(k.path()+".guarantee", err.Error(), "ask for a larger guarantee")
}
