package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/plugin/inprocess"
	"github.com/dprelease/dprelease/lab/measure"
	"github.com/dprelease/dprelease/plugins/count"
	"github.com/dprelease/dprelease/plugins/histogram"
	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/proportion"
	"github.com/dprelease/dprelease/plugins/quantiles"
	"github.com/dprelease/dprelease/plugins/ratio"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/plugins/sum"
	"github.com/dprelease/dprelease/plugins/variance"
	"github.com/dprelease/dprelease/samplers"
)

// designs are the ways to draw.
var designs = []string{"table", "srswor", "poisson", "strata", "rates", "collected", "gathered", "survey", "stages"}

var mechanisms = inprocess.Mechanisms{
	"mean": mean.Mechanism{}, "sum": sum.Mechanism{}, "proportion": proportion.Mechanism{}, "ratio": ratio.Mechanism{},
	"quantiles": quantiles.Mechanism{}, "variance": variance.Mechanism{}, "sd": variance.SD(), "count": count.Mechanism{},
	"histogram": histogram.Mechanism{},
}

// declared writes the columns and the releases of a job.
func (p *population) declared(design, level, from string) (columns, releases string) {
	var declared, asked strings.Builder
	interval := ""
	if level != "" {
		interval = ", interval: " + level
	}
	for _, c := range p.columns {
		if c.Type == sdk.Category {
			fmt.Fprintf(&declared, "    %s: {domain: [%s]}\n", c.Name, strings.Join(c.Domain, ", "))
		} else {
			fmt.Fprintf(&declared, "    %s: {lower: %g, upper: %g}\n", c.Name, c.Lower, c.Upper)
		}
	}
	for i, r := range p.releases {
		if design == "stages" && slices.Contains(p.clusters.without, r.mechanism) {
			continue
		}
		by := ""
		if params, group, ok := strings.Cut(r.params, "by: "); ok && design == "capped" { // the groups are the host's
			by, r.params = ", by: ["+strings.Trim(group, "}")+"]", strings.TrimSuffix(params, ", ")+"}"
		}
		fmt.Fprintf(&asked, "  - {name: r%d, from: %s, mechanism: %s, params: %s, guarantee: {epsilon: %q}%s%s}\n", i, from, r.mechanism,
			r.params, p.epsilon, interval, by)
	}
	return declared.String(), asked.String()
}

// strataDraw writes the frame of the strata, and the keys of the job for it and for a draw from it.
func (p *population) strataDraw(folder string) (table, sample string, err error) {
	var lines, takes []string
	for h, key := range p.domain() {
		n := 0
		for _, code := range p.stratum() {
			if int(code) == h {
				n++
			}
		}
		lines, takes = append(lines, fmt.Sprintf("%s,%d", key, n)), append(takes, fmt.Sprintf("%s: %d", key, p.take[h]))
	}
	file := filepath.Join(folder, p.name+".csv")
	if err := os.WriteFile(file, []byte(p.strata+",rows\n"+strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return "", "", err
	}
	table = fmt.Sprintf("frame: {path: %q, records: rows}", file)
	sample = fmt.Sprintf("samples: {s: {method: stratified, strata: %s, take: {%s}}}", p.strata, strings.Join(takes, ", "))
	return table, sample, nil
}

// plan plans all releases of a population by a design, with an interval of this level, or
// without where it is "".
func (p *population) plan(ctx context.Context, design, level, folder string) (*plan.Priced, error) {
	unit := "row"
	if design == "capped" {
		unit = "{column: person, name: person}"
	}
	relation, size, table, from, sample := "replace-one", fmt.Sprint("size: ", p.table.Rows), "", "s", ""
	switch design {
	case "table":
		from = "all"
	case "srswor":
		sample = fmt.Sprintf("samples: {s: {method: srswor, size: %d}}", p.size)
	case "poisson":
		sample = "samples: {s: {method: poisson, rate: " + p.rate + "}}"
	case "strata":
		var err error
		if table, sample, err = p.strataDraw(folder); err != nil {
			return nil, err
		}
	case "stages":
		file := filepath.Join(folder, p.name+"-clusters.csv")
		if err := os.WriteFile(file, []byte(p.clusters.list()), 0o600); err != nil {
			return nil, err
		}
		table = fmt.Sprintf("frame: {path: %q, records: rows}", file)
		sample = fmt.Sprintf("samples: {s: {method: multistage, stages: [{unit: %s, take: %d}, {take: %d, if_fewer: all}]}}", p.clusters.Name,
			p.clusters.take, p.clusters.rows)
	case "rates":
		var rates []string
		for h, key := range p.domain() {
			rates = append(rates, fmt.Sprintf("%s: %s", key, p.rates[h]))
		}
		relation, size = "add-remove", ""
		sample = fmt.Sprintf("samples: {s: {method: stratified, strata: %s, rates: {%s}}}", p.strata, strings.Join(rates, ", "))
	case "collected":
		from, size = "all", fmt.Sprint("size: ", p.size)
		table = fmt.Sprintf("collected: {method: srswor, population: %d}", p.table.Rows)
	case "capped":
		relation, from, size, table = "add-remove", "all", "", p.persons.cap()
	case "gathered":
		relation, from, size, table = "add-remove", "all", "", fmt.Sprintf("collected: {method: poisson, rate: %q}", p.rate)
	}
	weights := ""
	if design == "survey" {
		_, most := p.chances()
		from, size = "all", fmt.Sprint("size: ", p.size)
		table = fmt.Sprintf("weights: {column: weight, at_most: %g, first_stage: unit}", math.Ceil(most))
		weights = "    weight: {type: number}\n"
	}
	columns, releases := p.declared(design, level, from)
	text := fmt.Sprintf(`version: 1
job: coverage
dataset:
  id: %s
  source: {path: none.csv}
  relation: %s
  %s
  unit: %s
  columns:
%s  %s
budget: {limit: {epsilon: 1000}}
%s
releases:
%soutput: {dir: out}
`, p.name, relation, size, unit, weights+columns, table, sample, releases)
	j, err := language.Parse("job.yaml", []byte(text), language.Options{})
	if err != nil {
		return nil, fmt.Errorf("%s\n%w", text, err)
	}
	made, err := plan.Make(ctx, j, mechanisms, inprocess.NoPast{})
	if err != nil {
		return nil, fmt.Errorf("%s\n%w", text, err)
	}
	return made, nil
}

// domain lists the strata, and stratum says which one each row is in.
func (p *population) domain() []string {
	return p.columns[slices.IndexFunc(p.columns, func(c sdk.Column) bool { return c.Name == p.strata })].Domain
}

func (p *population) stratum() []int32 { return p.table.Columns[p.strata].Codes }

// rows are some rows of a population, as a mechanism reads them.
type rows struct {
	batch *sdk.Batch
	read  bool
}

func (r *rows) Next() (*sdk.Batch, error) {
	if r.read {
		return nil, io.EOF
	}
	r.read = true
	return r.batch, nil
}

// pick takes rows with their weights for the columns of a plan.
func (p *population) pick(names []string, which []uint32, weights []float64) *rows {
	b := &sdk.Batch{Rows: len(which), Weights: weights}
	for _, name := range names {
		c, v := p.table.Columns[name], sdk.Values{}
		for _, i := range which {
			if c.Codes != nil {
				v.Codes = append(v.Codes, c.Codes[i])
			} else {
				v.Float64 = append(v.Float64, c.Float64[i])
			}
		}
		b.Columns = append(b.Columns, v)
	}
	return &rows{batch: b}
}

// pickOf takes the rows for a release, which may read the clusters that they lie in.
func (p *population) pickOf(r *plan.PricedRelease, which []uint32, weights []float64) *rows {
	at := slices.IndexFunc(r.Plan.Columns, r.Clusters.In)
	if at < 0 {
		names := slices.Clone(r.Plan.Columns)
		for i, name := range names {
			if r.Cells.Label(name) { // the group column of the host
				names[i] = r.Job.By[0]
			}
		}
		return p.pick(names, which, weights)
	}
	out := p.pick(slices.Delete(slices.Clone(r.Plan.Columns), at, at+1), which, weights)
	var codes []int32
	for _, i := range which {
		codes = append(codes, r.Clusters.Of[p.clusters.codes[i]]) // the frame has them in this order
	}
	out.batch.Columns = slices.Insert(out.batch.Columns, at, sdk.Values{Codes: codes})
	return out
}

// numbers is a column of a result.
func numbers(r sdk.Result, name string) []float64 {
	at := slices.IndexFunc(r.Columns, func(c sdk.ResultColumn) bool { return c.Name == name })
	if at < 0 {
		return nil
	}
	return r.Columns[at].Float64
}

// figure is the coverage of one released value, over all draws.
type figure struct {
	release       release
	row           int
	held, drawn   int
	units         float64 // rows of the cell in a draw, on average; 0: not known
	blanks        int
	unbounded     int     // intervals without an end
	width, spread float64 // the mean width, and the sum of squared errors
}

func (f *figure) share() float64 { return float64(f.held) / float64(f.drawn) }

// shown is the share of the draws in which the value is shown.
func (f *figure) shown() float64 { return float64(f.drawn) / float64(f.drawn+f.blanks) }

// blank reports whether a value is shown too seldom for its share to tell of all draws: it is shown
// when the noise in its number of rows is large.
func (f *figure) blank() bool { return 9*f.blanks > f.drawn }

// add takes one draw into account: a value with its interval, and the population's.
func (f *figure) add(value, low, high, truth float64) {
	if math.IsNaN(high) != math.IsNaN(low) { // one end
		if math.IsNaN(low) {
			low = math.Inf(-1)
		} else {
			high = math.Inf(1)
		}
	}
	if math.IsNaN(value - truth) { // blank, or a cell in which nobody knows the truth
		f.blanks++
		return
	}
	f.drawn++
	if w := high - low; w < 1e100 {
		f.width += w
	} else {
		f.unbounded++
	}
	f.spread += (value - truth) * (value - truth)
	if low <= truth && truth <= high {
		f.held++
	}
}

// study runs all releases by a design so many times. Change may alter the parameters of a
// release, for the twin of a test.
func (p *population) study(ctx context.Context, design string, draws int, change func(json.RawMessage) json.RawMessage) ([]*figure, error) {
	folder, err := os.MkdirTemp("", "coverage-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	truth, err := p.truth(ctx, folder)
	if err != nil {
		return nil, err
	}
	made, err := p.plan(ctx, design, "95", folder)
	if err != nil {
		return nil, err
	}
	src := p.noise
	if src == nil {
		if src, err = noise.NewSource(); err != nil {
			return nil, err
		}
	}
	d := made.Draws[0]
	rng := rand.New(rand.NewPCG(1, 2))
	figures := map[string][]*figure{}
	for range draws {
		which, weights, err := p.draw(d.Design, design, rng)
		if err != nil {
			return nil, err
		}
		for _, r := range d.Releases {
			req := r.Request()
			if change != nil {
				req.Params = change(req.Params)
				if req.Plan, err = mechanisms[r.Job.Mechanism].Plan(req.PlanRequest); err != nil {
					return nil, err
				}
			}
			own := weights
			if r.Weights != nil {
				own = slices.Clone(weights)
				for i, w := range own {
					own[i] = r.Weights.Of(w)
				}
			}
			res, err := mechanisms[r.Job.Mechanism].Release(ctx, req, p.pickOf(r, which, own), measure.Noise{Source: src})
			if err != nil {
				return nil, err
			}
			if design == "capped" {
				res = nans(r.Stated(r.Blanked(res)))
			}
			value, low, high := numbers(res, "estimate"), numbers(res, linear.LowField), numbers(res, linear.HighField)
			for i, v := range truth[r.Job.Name] {
				if len(figures[r.Job.Name]) <= i {
					figures[r.Job.Name] = append(figures[r.Job.Name], &figure{release: p.release(r.Job.Name), row: i})
				}
				f := figures[r.Job.Name][i]
				f.units += float64(p.drawnIn(r, which, i)) / float64(draws)
				f.add(value[i], low[i], high[i], v)
			}
		}
	}
	var out []*figure
	for _, r := range d.Releases {
		out = append(out, figures[r.Job.Name]...)
	}
	return out, nil
}

// drawnIn counts the drawn rows that a value is about: those of its group, or all of them.
func (p *population) drawnIn(r *plan.PricedRelease, which []uint32, at int) int {
	by := p.by(p.release(r.Job.Name))
	if by == nil {
		return len(which)
	}
	n := 0
	for _, i := range which {
		if int(by[i]) == at {
			n++
		}
	}
	return n
}

// by holds the group of each row where a release has one value for each of them, else nil.
func (p *population) by(r release) []int32 {
	for _, c := range p.columns {
		if c.Type == sdk.Category && strings.Contains(r.params, "by: "+c.Name) {
			return p.table.Columns[c.Name].Codes
		}
	}
	return nil
}

func (p *population) release(name string) release {
	var i int
	fmt.Sscanf(name, "r%d", &i)
	return p.releases[i]
}

// truth returns what each release says of the whole population without noise.
func (p *population) truth(ctx context.Context, folder string) (map[string][]float64, error) {
	if p.persons != nil {
		return p.expected(), nil
	}
	whole, err := p.plan(ctx, "table", "", folder)
	if err != nil {
		return nil, err
	}
	every := make([]uint32, p.table.Rows)
	for i := range every {
		every[i] = uint32(i)
	}
	truth := map[string][]float64{}
	for _, r := range whole.Releases() {
		res, err := mechanisms[r.Job.Mechanism].Release(ctx, r.Request(), p.pick(r.Plan.Columns, every, nil), sdktest.NoNoise{Rows: p.table.Rows})
		if err != nil {
			return nil, err
		}
		truth[r.Job.Name] = numbers(res, "estimate")
	}
	return truth, nil
}

// chances returns how likely each row is to be the next one of a survey, and the largest
// weight.
func (p *population) chances() (chances []float64, most float64) {
	total := 0.0
	for _, code := range p.stratum() {
		rate, _ := strconv.ParseFloat(p.rates[code], 64)
		chances, total = append(chances, rate), total+rate
	}
	for i := range chances {
		chances[i] /= total
		most = math.Max(most, 1/(chances[i]*float64(p.size)))
	}
	return chances, most
}

// survey draws rows as somebody else would: rows of unequal chances, with their weights.
func (p *population) survey(rng *rand.Rand) (which []uint32, weights []float64) {
	chances, _ := p.chances()
	upTo, sum := make([]float64, len(chances)), 0.0
	for i, c := range chances {
		sum += c
		upTo[i] = sum
	}
	for range p.size {
		i := min(sort.SearchFloat64s(upTo, rng.Float64()*sum), len(upTo)-1)
		which, weights = append(which, uint32(i)), append(weights, 1/(chances[i]*float64(p.size)))
	}
	return which, weights
}

// draw takes one sample with the sampler of the program. A table that is itself a sample was
// drawn by somebody else.
func (p *population) draw(d samplers.Design, design string, rng *rand.Rand) ([]uint32, []float64, error) {
	if design == "survey" {
		which, weights := p.survey(rng)
		return which, weights, nil
	}
	if design == "capped" {
		return p.persons.choose(rng, p.table.Columns["ward"].Codes), nil, nil
	}
	if design == "gathered" {
		rate, err := strconv.ParseFloat(p.rate, 64)
		var out []uint32
		for i := range p.table.Rows {
			if rng.Float64() < rate {
				out = append(out, uint32(i))
			}
		}
		return out, nil, err
	}
	if design == "collected" {
		var out []uint32
		for _, i := range rng.Perm(p.table.Rows)[:p.size] {
			out = append(out, uint32(i))
		}
		return out, nil, nil
	}
	s, err := samplers.Begin(d, int64(p.table.Rows))
	if err != nil {
		return nil, nil, err
	}
	var chosen samplers.Selection
	switch design {
	case "stages":
		chosen, err = s.NextUnits(p.clusters.codes)
	case "strata", "rates":
		frame, domain := d.(samplers.Framed).Frame(), p.domain()
		var units []int32 // of the frame, in which the rows lie
		for _, code := range p.stratum() {
			units = append(units, frame.UnitOf(domain[code]))
		}
		chosen, err = s.NextUnits(units)
	default:
		chosen, err = s.Next(p.table.Rows)
	}
	if err != nil {
		return nil, nil, err
	}
	which := slices.Clone(chosen.Rows)
	for i := range p.table.Rows {
		if chosen.All {
			which = append(which, uint32(i))
		}
	}
	return which, slices.Clone(chosen.Weights), s.Done()
}

// luck returns how far a share of so many draws may lie below the level, where the worst of so
// many figures does so with a probability of 5 in 100.
func luck(level float64, draws, figures int) float64 {
	return -quantile(1-math.Pow(0.95, 1/float64(figures))) * math.Sqrt(level*(1-level)/float64(draws))
}
