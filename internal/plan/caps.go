package plan

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// replanForCap is the release as it is with the cap of j. Its event must be the one that was charged, whatever the cap.
//
// # Contract
//
// Under a cap of r rows that was found in private each row of a unit counts R/r times, R public, so the mechanism plans for
// at most R rows of a unit whatever r is: its event does not depend on r, and was charged before any row was read. What
// comes back is divided by R/r, so the noise is in proportion to r. The event of a draw with a choice is the composition of
// the choice's and of the others'. Proof: caps.proof.md.
func (r *PlannedRelease) replanForCap(ctx context.Context, j *job.Job, d *PlannedDraw) (*PlannedRelease, error) { // P22
	q, err := newQuestion(j, d.DraftDraw, ask{r.Index, r.Mech, r.schema}, nil)
	if err != nil {
		return nil, err
	}
	one, err := q.at(ctx, r.Share, r.Target)
	if err != nil {
		return nil, err
	}
	if !r.Alike(&one.Release) {
		return nil, errByCap
	}
	one.Replanned = true
	return one, nil
}

var errByCap = fmt.Errorf("plans another event for another cap, so its cap cannot be chosen in private")

// choices are the releases from which caps are chosen, in the order in which they are made.
func (p *Planned) choices() (all []*PlannedRelease) {
	for _, d := range p.Draws {
		for _, r := range d.Releases {
			if r.Job.ChoosesCap() {
				all = append(all, r)
			}
		}
	}
	return all
}

// capOf is the cap of a table, "" where there is one.
func (p *Planned) capOf(table string) *job.Cap { return p.Job.Of(table).Dataset.Cap }

// choosable holds every mechanism to one event for all caps, and forecasts the choices where the job assumes how many rows
// units have. The plan is then that of the caps that are most likely.
func (p *Planned) choosable(ctx context.Context) (*Planned, error) {
	var problems job.Problems
	likely := map[string]int64{}
	for _, choice := range p.choices() {
		table, path := choice.Job.Table, choice.path(p.Job)
		known := false
		for _, d := range p.Draws {
			known = known || slices.Contains(d.Releases, choice)
			for _, r := range d.Releases {
				if r.Job.CountsUnits() || r.Job.Table != table {
					continue
				}
				if !known {
					problems = append(problems, p.Job.Problem(path, "is chosen in a draw that comes after that of release "+r.Job.Name, ""))
					continue
				}
				if _, err := r.replanForCap(ctx, p.Job.WithCap(table, 1), d); isFault(err) {
					return nil, planned.Faulty(ctx, p.Job, r.Index, err)
				} else if err != nil {
					problems = append(problems, p.Job.Problem(r.path(p.Job)+".mechanism", r.Job.Mechanism+": "+err.Error(), "say "+path+" as a number"))
				}
			}
		}
		if len(problems) == 0 && len(p.uses(table)) == 0 {
			problems = append(problems,
				p.Job.Problem(path, "cannot be chosen in private: of no release the noise grows with the cap", "say rows: and a number"))
		}
		if all := p.Likely(table); len(all) > 0 && all[0].Rows != p.capOf(table).Rows {
			likely[table] = all[0].Rows
		}
	}
	if len(problems) > 0 {
		return nil, problems.Sort()
	}
	if len(likely) == 0 {
		return p, nil
	}
	next, err := p.again(ctx, planned.Found{Rows: likely})
	if err != nil {
		return nil, err
	}
	next.Found = p.Found // nothing was read yet
	for _, d := range next.Draws {
		for _, r := range d.Releases {
			r.Replanned = false
		}
	}
	return next, nil
}

// Chosen is the price of a plan with what a run found: nothing that was charged changes.
func (p *Priced) Chosen(by *planned.Plan) *Priced {
	out, found := *p, by.Planner.(*Planned)
	if out.charged == nil {
		out.charged = p
	}
	out.Planned, out.Draws = found, slices.Clone(p.Draws)
	for i, d := range p.Draws {
		one := *d
		one.PlannedDraw, one.Releases = found.Draws[i], slices.Clone(d.Releases)
		for n, r := range d.Releases {
			release := *r
			release.PlannedRelease = found.Draws[i].Releases[n]
			one.Releases[n] = &release
		}
		out.Draws[i] = &one
	}
	return &out
}

// use is a release that uses a cap.
type use struct {
	cells  float64
	groups int64   // in which a unit counts
	noise  float64 // standard deviation for a cap of one row, in rows of the population
}

// uses are the releases whose noise grows with the cap of a table: those that add up its rows.
func (p *Planned) uses(table string) (out []use) {
	for _, d := range p.Draws {
		for _, r := range d.Releases {
			if c := r.Public.Cap; c != nil && r.Job.Table == table && r.cap.Choice != nil {
				each, linear := perRow(r.Plan, c.Groups)
				one := use{cells: 1, groups: c.Groups, noise: each * math.Max(1, r.Public.Design.MaxWeight)}
				if len(r.Job.By) > 0 {
					one.cells, one.groups = float64(max(1, r.Cells.Len())), r.cap.Groups
				}
				if linear {
					out = append(out, one)
				}
			}
		}
	}
	return out
}

// perRow is the standard deviation of the noise of a plan for a cap of one row in so many groups, over the most that a row
// adds. It is that of the first query, and false where the noise is not that of a linear query.
func perRow(p sdk.Plan, groups int64) (float64, bool) {
	e, k := p.Event, float64(groups)
	if all, ok := e.(privacy.Compose); ok {
		e = all.Events[0]
	}
	switch e := e.(type) {
	case privacy.DiscreteLaplace:
		return planned.DeviationOf(e) * k / e.Sensitivity.AddRemove, true
	case privacy.DiscreteGaussian:
		return planned.DeviationOf(e) * math.Sqrt(k) / e.Sensitivity.AddRemove, true
	}
	return 0, false
}

// Choose returns the cap of a table with the least estimated error for the releases that use it, from noisy numbers of units with up to
// so many rows as each cap says, more than the one before. It is computed from released numbers and public facts alone.
//
// The error of a release under the cap r is the root of (rows left out of a cell)² + (noise in proportion to r)². Rows in
// several groups are taken to lie evenly in them. The numbers of units with more rows than each cap cannot grow from cap to
// cap, nor be negative: that halves their noise. A quarter of the variance that they then may still have counts as left out,
// because a bias that nobody sees is worse than noise that everybody sees. Proof that it costs nothing: caps.proof.md.
func (p *Planned) Choose(table string, bins []float64, sd float64) int64 {
	return p.chooser(table).choose(bins, sd)
}

// chooser holds the public facts on which the choice of a cap rests.
type chooser struct {
	caps []int64
	uses []use
}

func (p *Planned) chooser(table string) chooser {
	return chooser{p.capOf(table).Choice.Caps(), p.uses(table)}
}

func (c chooser) choose(bins []float64, sd float64) int64 {
	above := falling(bins)
	best, least := c.caps[len(c.caps)-1], math.Inf(1)
	for _, r := range slices.Backward(c.caps) {
		loss := 0.0
		for _, u := range c.uses {
			left, unsure := 0.0, 0.0
			for i, to := range c.caps {
				from := r * u.groups
				if i > 0 {
					from = max(from, c.caps[i-1])
				}
				left += above[i] * float64(max(0, to-from))
				more := sd * float64(max(0, to-r*u.groups))
				unsure += more * more / 4
			}
			noise := u.noise * float64(r)
			loss += (left*left+unsure)/(u.cells*u.cells) + noise*noise
		}
		if loss < least {
			best, least = r, loss
		}
	}
	return best
}

// falling are the sums of each bin and those behind it, replaced by the nearest numbers of at least 0 that do not grow from
// bin to bin. Sums of fewer bins have less noise, and weigh more.
func falling(bins []float64) []float64 {
	type block struct {
		value, weight float64
		n             int
	}
	var blocks []block
	sum := 0.0
	for _, n := range bins {
		sum += n
	}
	for i := range bins {
		blocks = append(blocks, block{sum, 1 / float64(len(bins)-i), 1})
		sum -= bins[i]
		for n := len(blocks); n > 1 && blocks[n-2].value < blocks[n-1].value; n = len(blocks) {
			a, b := blocks[n-2], blocks[n-1]
			w := a.weight + b.weight
			blocks = append(blocks[:n-2], block{(a.value*a.weight + b.value*b.weight) / w, w, a.n + b.n})
		}
	}
	var out []float64
	for _, b := range blocks {
		out = append(out, slices.Repeat([]float64{math.Max(b.value, 0)}, b.n)...)
	}
	return out
}

// Likely is a cap with how likely it is chosen.
type Likely struct {
	Rows    int64
	Percent int
}

// Likely are the caps of a table that would be chosen if units had as many rows as the job assumes, the likeliest first; none where it
// assumes nothing. They are those of some choices with noise that the computer draws anew from the same start.
func (p *Planned) Likely(table string) (out []Likely) {
	choice := p.capOf(table).Choice
	if len(choice.Assume) == 0 {
		return nil
	}
	sd, unit := 0.0, 1.0
	for _, r := range p.choices() {
		if r.Job.Table == table {
			sd = planned.DeviationOf(r.Plan.Event)
			if w := r.Public.Design; w.EqualWeights {
				unit = math.Max(1, w.MaxWeight)
			}
		}
	}
	c := p.chooser(table)
	bins := make([]float64, len(c.caps))
	for i, n := range choice.Assume {
		at, _ := slices.BinarySearch(c.caps, int64(i+1))
		bins[min(at, len(bins)-1)] += float64(n)
	}
	const tries = 400
	rng, counts := rand.New(rand.NewPCG(1, 1)), map[int64]int{}
	for range tries {
		noisy := slices.Clone(bins)
		for i := range noisy {
			noisy[i] += unit * sd * (rng.ExpFloat64() - rng.ExpFloat64()) / math.Sqrt2
		}
		counts[c.choose(noisy, unit*sd)]++
	}
	for rows, n := range counts {
		out = append(out, Likely{rows, int(math.Round(100 * float64(n) / tries))})
	}
	slices.SortFunc(out, func(a, b Likely) int {
		if a.Percent != b.Percent {
			return b.Percent - a.Percent
		}
		return int(a.Rows - b.Rows)
	})
	return out
}
