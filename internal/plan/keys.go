package plan

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/rows/keys"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
)

// KeysOf is the selection whose values a release groups by, nil where all are listed.
func (d *PlannedDraw) KeysOf(j *job.Job, r *PlannedRelease) *planned.Keys {
	from := j.Keyed(&r.Job)
	if from == nil {
		return nil
	}
	at := slices.IndexFunc(d.Keys, func(k *planned.Keys) bool { return k.Job.Name == from.Name })
	if at < 0 {
		return nil
	}
	return d.Keys[at]
}

// planKeys finds the rule that keeps to the share of a selection, under every relation that
// the draw demands. index is that of the release that says what the selection may cost.
func planKeys(j *job.Job, index int, share privacy.Point, relations []privacy.Relation) (*planned.Keys, error) {
	j = j.Of(j.Releases[index].Table)
	rule, err := ruleFor(j, &j.Releases[index], share, relations)
	if err != nil {
		return nil, err
	}
	for _, rel := range relations {
		a, err := privacy.EpsilonAt(rule.Event(), rel, share.Delta)
		if err != nil {
			return nil, err
		}
		if a.Epsilon > share.Epsilon {
			return nil, fmt.Errorf("the selection spends more than its share (ε %.6g of %.6g)", a.Epsilon, share.Epsilon)
		}
	}
	return &planned.Keys{Job: j.Releases[index], Column: j.Releases[index].Unlisted(&j.Dataset), Share: share, Rule: rule}, nil
}

func ruleFor(j *job.Job, r *job.Release, target privacy.Point, relations []privacy.Relation) (keys.Rule, error) {
	w := keys.Want{Relations: relations, Keys: 1, Counts: r.Keys.Top > 0 || r.Tallied(),
		Target: privacy.Point{Epsilon: target.Epsilon * RoundingReserve, Delta: target.Delta * RoundingReserve}}
	if c := j.Dataset.CapOf(r); c != nil {
		w.Keys = c.Groups
	}
	return keys.Calibrate(w)
}

// wholeKeys finds what the full table would have allowed at the same guarantee.
func wholeKeys(k *planned.Keys, j *job.Job, relation privacy.Relation) keys.Rule {
	r, err := ruleFor(j.Of(k.Job.Table), &k.Job, Point(k.Job.Selecting()), []privacy.Relation{relation})
	if err != nil {
		return nil
	}
	return r
}

// pricedPart is something that a draw releases, and its price on the sample.
type pricedPart struct {
	name      string // as a failure calls it
	guarantee job.Guarantee
	share     privacy.Point
	event     privacy.Event
}

// Paid are the selections that have a price beside the releases: not those whose numbers a release shows.
func (d *PlannedDraw) Paid() []*planned.Keys {
	return slices.DeleteFunc(slices.Clone(d.Keys), func(k *planned.Keys) bool { return k.Job.Tallied() })
}

// errNoTally says that a mechanism gives something else than numbers of units.
var errNoTally = errors.New("is missing: only a count without params can show the numbers by which its values are selected")

// tallied is the release with the noisy numbers of its selection in the place of its mechanism's: the event is the selection's, so that
// noise is drawn and paid for once.
//
// # Contract
//
// The release shows the noisy numbers of the keys that were kept, and what is computed from them and from public facts. The event
// of the selection pays for all of it. Proof: keys.proof.md.
func (r *PlannedRelease) tallied(k *planned.Keys) (*PlannedRelease, error) {
	one := *r
	if builtin, _ := r.Mech.Origin(); !builtin || r.Apart || r.Plan.Estimates() != sdk.StatisticCount || len(r.Plan.Columns) != 1 ||
		len(r.Plan.Errors) != 1 {
		return nil, errNoTally
	}
	rule := k.Rule.(*keys.Threshold) // a rule that counts
	one.Tally = &planned.Tally{Threshold: rule, Level: r.levelOf() / 100}
	one.Plan.Event, one.Plan.Finish, one.Plan.Queries = rule.Event(), nil, nil
	one.Plan.Output = slices.DeleteFunc(slices.Clone(r.Plan.Output), func(f sdk.Field) bool {
		return !r.Cells.Labelled(f.Name) && !slices.Contains(planned.TallyFields, f.Name)
	})
	e := r.Plan.Errors[0]
	e.NoiseSD, e.Half95, e.Note = rule.Deviation(), float64(rule.Half(0.95)), tallyNote
	one.Plan.Errors = []sdk.ExpectedError{e}
	return &one, nil
}

const tallyNote = "a value just above the threshold shows a number that is too high, and an interval that reaches far down"

// parts are all that is released from a draw: its releases, and then the selections of their
// keys.
func (d *PlannedDraw) parts() []pricedPart {
	var out []pricedPart
	for _, r := range d.Releases {
		out = append(out, pricedPart{"release " + r.Job.Name, r.Job.Guarantee, r.Share, r.Event()})
	}
	for _, k := range d.Paid() {
		out = append(out, pricedPart{"keys of release " + k.Job.Name, k.Job.Keys.Guarantee, k.Share, k.Rule.Event()})
	}
	return out
}

// eventsOf lists the events of parts.
func eventsOf(parts []pricedPart) []privacy.Event {
	out := make([]privacy.Event, len(parts))
	for i, p := range parts {
		out[i] = p.event
	}
	return out
}

// errByKeys says that a mechanism does not repeat its plan for the same question.
var errByKeys = errors.New("makes another plan for the groups that were selected")

// chosen is the release with these values of its group column: its mechanism is asked again,
// and what it does to the sample must be what was charged.
func (r *PlannedRelease) chosen(ctx context.Context, j *job.Job, d *PlannedDraw, values []string) (*PlannedRelease, error) {
	q, err := newQuestion(j, d.DraftDraw, ask{r.Index, r.Mech, r.schema}, values)
	if err != nil {
		return nil, err
	}
	if q.Apart || q.Cells.Len() == 0 || r.Tally != nil {
		one := *r
		q.Answered = r.Answered
		one.Question = q
		return &one, nil // the mechanism sees one group at a time, or none, or is not asked
	}
	// A unit moves fewer groups where there are few, so that a mechanism may add less noise
	// than was charged, and know it by their number. It is then given spare groups: twice as
	// many as a unit may be in, or as many as it planned for.
	few := 2
	if c := r.cap; c != nil {
		few = int(min(2*c.Groups, int64(r.Cells.Len())))
	}
	for _, to := range []int{0, few, r.Cells.Len()} {
		one, err := q.spared(to).at(ctx, r.Share, r.Target)
		if err != nil {
			return nil, err
		}
		one.Replanned = true
		if r.Alike(&one.Release) {
			return one, nil
		}
	}
	return nil, errByKeys
}

// spared is the question for at least so many groups. No row is in a spare one.
func (q Question) spared(to int) *Question {
	q.Cells = q.Cells.Spare(to)
	q.Public.Columns = slices.Clone(q.Public.Columns)
	at := slices.IndexFunc(q.Public.Columns, func(c sdk.Column) bool { return c.Name == q.Cells.Column })
	q.Public.Columns[at].Domain = q.Cells.Labels()
	return &q
}

// suppressed is the column of the result that says which of its groups are blank.
const suppressed = "suppressed"

// SuppressBy is the column of the result by which groups are blanked, "" for none.
func (r *PlannedRelease) SuppressBy() string {
	if r.Job.Suppress == nil || r.Job.Suppress.Below == nil {
		return ""
	}
	at := slices.IndexFunc(r.Plan.Output, func(f sdk.Field) bool { return f.Statistic == sdk.StatisticCount })
	if at < 0 {
		return ""
	}
	return r.Plan.Output[at].Name
}

// checkSuppress refuses to blank groups by what is no noisy number of the result.
func (r *PlannedRelease) checkSuppress() error {
	if err := r.checkQuality(); err != nil || r.Job.Suppress == nil || r.Job.Suppress.Below == nil {
		return err
	}
	refused := func(message string) error {
		return refusals{{".suppress", message, "leave it out"}}
	}
	if r.has(suppressed) {
		return refused("cannot be used: the mechanism returns a column of that name itself")
	}
	if r.SuppressBy() == "" {
		return refused(fmt.Sprintf("needs the column with the noisy number of units: %s returns no count", r.Job.Mechanism))
	}
	return nil
}

// Blanked is a result in which values without a meaning (sdk.FlagField) and the groups with a small
// noisy number are blank. It is
// computed from what is released alone (P25).
func (r *PlannedRelease) Blanked(result sdk.Result) sdk.Result {
	result = result.Blanks()
	by := r.SuppressBy()
	at := slices.IndexFunc(result.Columns, func(c sdk.ResultColumn) bool { return c.Name == by })
	if by == "" || at < 0 {
		return result
	}
	numbers, below := result.Columns[at], rational.Up(r.Job.Suppress.Below)
	rows := max(len(numbers.Float64), len(numbers.Int64))
	marks := make([]int64, rows)
	for i := range rows {
		value := math.Inf(1)
		if numbers.Float64 != nil {
			value = numbers.Float64[i]
		} else if numbers.Int64 != nil {
			value = float64(numbers.Int64[i])
		}
		if !(value >= below) || numbers.Hidden(i) {
			marks[i] = 1
		}
	}
	out := sdk.Result{Columns: slices.Clone(result.Columns)}
	for k := range out.Columns {
		c := &out.Columns[k]
		if slices.Contains(r.groupColumns(), c.Name) {
			continue
		}
		own(c)
		for i, mark := range marks {
			if mark == 1 {
				c.Hide(i)
			}
		}
	}
	out.Columns = append(out.Columns, sdk.ResultColumn{Name: suppressed, Int64: marks})
	return out
}

// groupColumns are the columns of the result that say which group a row is about.
func (r *PlannedRelease) groupColumns() []string {
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
func keysProblem(j *job.Job, index int, err error) job.Problem {
	path := job.Key(job.Item("releases", index), "keys") + ".guarantee"
	if j.Releases[index].Tallied() && !errors.Is(err, errNoTally) {
		path = j.ReleasePath(index) + ".guarantee"
	}
	switch {
	case errors.Is(err, errNoTally):
		return j.Problem(path, err.Error(), "say guarantee: {epsilon: …, delta: …}, or from: RELEASE")
	case errors.Is(err, keys.ErrDelta):
		return j.Problem(path, "leaves no delta to the selection on the sample", "ask for a larger delta")
	}
	return j.Problem(path, err.Error(), "ask for a larger guarantee")
}
