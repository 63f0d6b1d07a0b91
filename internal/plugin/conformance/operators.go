package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// operator is one thing that a job does to rows before a mechanism sees them.
type operator struct {
	name    string
	dataset string            // what the job says of the table
	columns map[string]string // what it says of some columns instead of the usual; "" for computed ones
	release string            // what it says of the release
	units   bool              // a unit has several rows
	drawn   bool              // the release is of a sample
}

var operators = []operator{
	{name: "where", release: `where: "r > 0 || k == 'p'"`},
	{name: "derive", dataset: `derive: {x: {as: "r / (y - 50)", lower: -1, upper: 3}}`, columns: map[string]string{"x": ""}},
	{name: "lookup", dataset: `lookups: {kinds: {path: "DIR/kinds.csv", key: k, columns: {g: {domain: ["a", "b", "c"]}}}}`,
		columns: map[string]string{"g": ""}, release: `by: [g]`},
	{name: "by", release: `by: [g, h]`},
	{name: "other", release: `by: [g], other: rest`},
	{name: "fold", dataset: `fold: {x: sum, y: mean, z: max, u: min, g: mode, h: mode, i: mode}`, units: true,
		release: `where: "r > 0", by: [g]`},
	{name: "cap", dataset: `cap: {groups: 2, rows: 2}`, units: true, release: `by: [g]`},
	{name: "draw", release: `from: s, where: "r > 0 || k == 'p'"`, drawn: true},
}

// How much is tried behind each operator, and how many units its tables have.
const (
	operatorParams = 2
	operatorPairs  = 6
	operatorUnits  = 6
)

// broken makes the mistakes of a broken operator, for tests.
type broken struct {
	table func(rows []row) []row                   // before the run
	rows  func(p *planned.Plan, t []sdktest.Table) // before the mechanism
}

// behind runs the plugin behind each operator of a job, on pairs of neighbouring tables
// before the operator, and compares what reaches the mechanism and how far its queries
// move. What it refuses is left out.
func behind(ctx context.Context, p *Process, all []sdk.PlanRequest, seed uint64, ops []operator,
	b broken) (found []sdktest.Finding, pairs, calls int, err error) {
	about, err := p.Describe(ctx)
	if err != nil || about.SelfNoising {
		return nil, 0, 0, err
	}
	dir, err := os.MkdirTemp("", "operators")
	if err != nil {
		return nil, 0, 0, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "kinds.csv"), []byte("k,g\np,a\nq,b\n"), 0o600); err != nil {
		return nil, 0, 0, err
	}
	for _, op := range ops {
		for _, rel := range []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne} {
			for i, raw := range withoutGroups(all) {
				x := &rehearsal{process: p, about: about, op: op, relation: rel, dir: dir, broken: b,
					rng: rand.New(rand.NewPCG(seed, uint64(i)))}
				f, n, err := x.attack(ctx, raw)
				pairs, calls = pairs+n, calls+x.calls
				if err != nil {
					return found, pairs, calls, err
				}
				if f != nil {
					found = append(found, *f)
					break // of this operator and relation one counterexample is enough
				}
			}
		}
	}
	return found, pairs, calls, ctx.Err()
}

// withoutGroups picks some parameters without "by", so that the host makes the groups.
func withoutGroups(all []sdk.PlanRequest) (out []json.RawMessage) {
	for _, req := range all {
		var p map[string]any
		if json.Unmarshal(req.Params, &p) != nil || p["by"] != nil || len(out) == operatorParams ||
			slices.ContainsFunc(out, func(o json.RawMessage) bool { return string(o) == string(req.Params) }) {
			continue
		}
		out = append(out, req.Params)
	}
	return out
}

// rehearsal is one job with one operator before the plugin.
type rehearsal struct {
	process  *Process
	about    sdk.Description
	op       operator
	relation privacy.Relation
	dir      string
	rng      *rand.Rand
	broken   broken
	fed      []sdktest.Table // what reached the mechanism: one table, or one of each cell
	of       int64           // of how many units the sample was drawn, -1 where it was not
	calls    int             // noise calls that were compared
	tried    bool            // the mechanism was run on what it is fed
}

// Get, About, Origin, Confined and Plan let a job be planned.
func (x *rehearsal) Get(context.Context, string) (planned.Mechanism, error) { return x, nil }
func (x *rehearsal) About() sdk.Description                                 { return x.about }
func (x *rehearsal) Origin() (bool, string)                                 { return true, "" }
func (x *rehearsal) Confined() string                                       { return "" }

func (x *rehearsal) Plan(ctx context.Context, req sdk.PlanRequest) (sdk.Plan, error) {
	plugin, err := x.process.start(ctx)
	if err != nil {
		return sdk.Plan{}, err
	}
	made, err := plugin.Plan(ctx, req)
	return made, x.process.after(err)
}

// sums keeps what the mechanism is fed.
func (x *rehearsal) sums(ctx context.Context, rel *planned.Release, _ bool,
	feed func(context.Context, host.RowWriter) error) ([][]int64, error) {
	r := rel.Request()
	t := &keeper{plan: r.Plan, table: sdktest.Table{Columns: map[string]sdk.Values{}}}
	if err := feed(ctx, t); err != nil {
		return nil, err
	}
	for _, name := range r.Plan.Columns {
		if c, _ := r.Public.Column(name); t.table.Rows == 0 && c.Type == sdk.Category {
			t.table.Columns[name] = sdk.Values{Codes: []int32{}}
		} else if t.table.Rows == 0 {
			t.table.Columns[name] = sdk.Values{Float64: []float64{}}
		}
	}
	x.fed = append(x.fed, t.table)
	if x.tried {
		return nil, nil
	}
	x.tried = true
	_, err := x.process.Release(ctx, r.PlanRequest, r.Plan, t.table, sdktest.NoNoise{Rows: t.table.Rows})
	return nil, err
}

// drawn is a draw that was settled beforehand: it takes units, in ascending order.
type drawn struct {
	units []uint32
	first uint32 // of the next block
}

func (s *drawn) Next(n int) (out samplers.Selection, err error) {
	for _, at := range s.units {
		if at >= s.first && at < s.first+uint32(n) {
			out.Rows = append(out.Rows, at-s.first)
		}
	}
	s.first += uint32(n)
	return out, nil
}

func (s *drawn) NextUnits(units []int32) (samplers.Selection, error) { return s.Next(len(units)) }
func (s *drawn) Done() error                                         { return nil }

// keeper keeps a table of one block.
type keeper struct {
	plan  sdk.Plan
	table sdktest.Table
}

func (k *keeper) Write(b sdk.Batch) error {
	if k.table.Rows > 0 {
		return errors.New("conformance: a dozen rows come in several blocks")
	}
	k.table.Rows, k.table.Weights = b.Rows, slices.Clone(b.Weights)
	for i, name := range k.plan.Columns {
		v := b.Columns[i]
		k.table.Columns[name] = sdk.Values{Float64: slices.Clone(v.Float64), Codes: slices.Clone(v.Codes), Valid: slices.Clone(v.Valid)}
	}
	return nil
}

// attack tries some pairs of tables.
func (x *rehearsal) attack(ctx context.Context, raw json.RawMessage) (*sdktest.Finding, int, error) {
	j, err := language.Parse(filepath.Join(x.dir, "job.yaml"), x.job(raw), language.Options{})
	if err != nil {
		return nil, 0, err
	}
	priced, err := plan.Make(ctx, j, x, nil)
	if err != nil {
		return nil, 0, nil // refused: the plugin says for what it is not made
	}
	p := priced.Plan
	x.tried = false
	for n := range operatorPairs {
		left, right := x.tables()
		a, err := x.run(ctx, p, left)
		if err != nil {
			return nil, n, nil // other checks say what failed
		}
		of := x.of
		b, err := x.run(ctx, p, right)
		if err != nil {
			return nil, n, nil
		}
		var f *sdktest.Finding
		if x.op.drawn && (of != int64(len(left)) || x.of != int64(len(right))) {
			f = &sdktest.Finding{Detail: fmt.Sprintf("the sample is drawn of %d units, and there are %d", of, len(left))} // P24
		} else {
			f = x.compare(ctx, p.Draws[0].Releases[0], a, b)
		}
		if f != nil {
			f.Check, f.Detail = "operators", fmt.Sprintf("behind %s (%s): %s", x.op.name, x.relation, f.Detail)
			f.Tables = "table A, before the operator\n" + csv(left) + "table B, before the operator\n" + csv(right) + f.Tables
			return f, n + 1, nil
		}
	}
	return nil, operatorPairs, ctx.Err()
}

// job is a job with the operator.
func (x *rehearsal) job(raw json.RawMessage) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\njob: operators\ndataset:\n  id: generated\n  source: {path: \"%s/table.csv\"}\n  relation: %s\n",
		x.dir, x.relation)
	if x.relation == privacy.ReplaceOne {
		fmt.Fprintf(&b, "  size: %d\n", operatorUnits)
	}
	if x.op.units {
		b.WriteString("  unit: {column: id, name: unit}\n")
	}
	if x.op.dataset != "" {
		b.WriteString("  " + strings.ReplaceAll(x.op.dataset, "DIR", x.dir) + "\n")
	}
	b.WriteString("  columns:\n")
	for _, c := range sdktest.Columns() {
		said, is := x.op.columns[c.Name]
		if !is {
			missing := map[bool]string{true: "refuse", false: "drop"}[c.Missing == sdk.MissingRefuse && !x.op.units]
			if said = fmt.Sprintf("{lower: %v, upper: %v, missing: %s}", c.Lower, c.Upper, missing); c.Type == sdk.Category {
				domain, _ := json.Marshal(c.Domain)
				said = fmt.Sprintf("{domain: %s, missing: %s}", domain, missing)
			}
		}
		if said != "" {
			fmt.Fprintf(&b, "    %s: %s\n", c.Name, said)
		}
	}
	b.WriteString("    r: {type: number}\n    k: {type: text}\n")
	b.WriteString("budget: {limit: {epsilon: 100, delta: \"0.1\"}}\n")
	if x.op.drawn {
		b.WriteString("samples: {s: {method: poisson, rate: 0.5}}\n")
	}
	said := ""
	if x.op.release != "" {
		said = ", " + x.op.release
	}
	fmt.Fprintf(&b, "releases:\n  - {name: r, mechanism: checked, params: %s, guarantee: {epsilon: 1, delta: \"1e-6\"}%s}\noutput: "+
		"{dir: out}\n", raw, said)
	return []byte(b.String())
}

// row is a generated row: a value of each column.
type row []string

// tables are two tables that differ in the rows of their last unit. The rows of every other
// unit are the same row several times: which of them a cap keeps makes no difference.
func (x *rehearsal) tables() (left, right []row) {
	one := func(unit int) row {
		out := row{fmt.Sprint("unit", unit)}
		pick := func(from ...string) string { return from[x.rng.IntN(len(from))] }
		for _, c := range sdktest.Columns() {
			if c.Type == sdk.Category {
				out = append(out, pick(c.Domain...))
			} else {
				lo, hi := c.Lower, c.Upper
				out = append(out, pick(fmt.Sprint(lo), fmt.Sprint(hi), fmt.Sprint(lo-10), fmt.Sprint(hi+10), fmt.Sprint(lo+x.rng.Float64()*(hi-lo))))
			}
			if c.Missing == sdk.MissingDrop && x.rng.IntN(8) == 0 {
				out[len(out)-1] = ""
			}
		}
		return append(out, pick("-1", "0", "1", "2", "99", ""), pick("p", "q", "z", ""))
	}
	own := func() (out []row) {
		for k := 0; k == 0 || x.op.units && k < 5 && x.rng.IntN(4) > 0; k++ {
			out = append(out, one(operatorUnits-1))
		}
		return out
	}
	for u := range operatorUnits - 1 {
		r := one(u)
		left = append(left, r)
		if x.op.units && x.rng.IntN(2) == 0 {
			left = append(left, r)
		}
	}
	right = slices.Clone(left)
	if left = append(left, own()...); x.relation == privacy.ReplaceOne {
		right = append(right, own()...)
	}
	return left, right
}

// csv is a table as text.
func csv(rows []row) string {
	text := "id,x,y,z,u,g,h,i,r,k\n"
	for _, r := range rows {
		text += strings.Join(r, ",") + "\n"
	}
	return text
}

// run hands the rows of a table through the operators, and gives what reaches the
// mechanism.
func (x *rehearsal) run(ctx context.Context, p *planned.Plan, rows []row) ([]sdktest.Table, error) {
	if x.broken.table != nil {
		rows = x.broken.table(rows)
	}
	if err := os.WriteFile(p.Job.Dataset.Source.Path, []byte(csv(rows)), 0o600); err != nil {
		return nil, err
	}
	opened, err := run.OpenTable(ctx, p, 0)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	src, err := noise.NewSource()
	if err != nil {
		return nil, err
	}
	x.fed, x.of = nil, -1
	some := &drawn{units: []uint32{0, 2, operatorUnits - 1}}
	if _, err = run.AddUp(ctx, p, opened, x.sums, func(d *planned.Draw, n int64, _ []int32) (samplers.Selector, error) {
		if d.Design.Kind() == "full" {
			return samplers.Begin(d.Design, n)
		}
		return some, nil
	}, src); err != nil {
		return nil, err
	}
	if some.first > 0 {
		x.of = int64(some.first)
	}
	if x.broken.rows != nil {
		x.broken.rows(p, x.fed)
	}
	return x.fed, nil
}

// compare checks the rows that reached the mechanism, and its noise calls, against one unit's change.
func (x *rehearsal) compare(ctx context.Context, rel *planned.Release, a, b []sdktest.Table) *sdktest.Finding {
	mine, theirs := x.only(rel, a, b), x.only(rel, b, a)
	for _, cells := range []map[string]int64{mine, theirs} {
		groups, rows := int64(1), int64(1)
		if c := rel.Public.Cap; c != nil {
			groups, rows = c.Groups, c.Rows
			if rel.Apart {
				groups = operatorUnits // as the job says, of which the mechanism sees one group
			}
		}
		for cell, n := range cells {
			if int64(len(cells)) > groups || n > rows {
				return &sdktest.Finding{Detail: fmt.Sprintf("one unit changes %d rows in cell %q, in %d cells in all; it may have %d in %d", n,
					cell, len(cells), rows, groups)}
			}
		}
	}
	if x.relation == privacy.AddRemove && len(theirs) > 0 {
		return &sdktest.Finding{Detail: "a unit that comes changes rows of others"}
	}
	req := rel.Request().PlanRequest
	for i := range a {
		relation := x.relation
		if rel.Apart {
			key := fmt.Sprint(i, " ")
			n, m := prefixed(mine, key), prefixed(theirs, key)
			if n+m == 0 {
				continue
			}
			if n == 0 || m == 0 {
				relation = privacy.AddRemove // it left this cell for another, or came
			}
		}
		f, calls := sdktest.Compare(ctx, x.process, req, rel.Plan, sdktest.Neighbours{Left: a[i], Right: b[i], Relation: relation},
			x.rng.Uint64())
		if x.calls += calls; f != nil {
			return f
		}
	}
	return nil
}

func prefixed(cells map[string]int64, prefix string) (n int64) {
	for cell, rows := range cells {
		if strings.HasPrefix(cell, prefix) {
			n += rows
		}
	}
	return n
}

// only counts, by cell, the rows that a has and b has not. Rows that do not count are left
// out.
func (x *rehearsal) only(rel *planned.Release, a, b []sdktest.Table) map[string]int64 {
	counts, in := map[string]int64{}, map[string]string{}
	for sign, tables := range map[int64][]sdktest.Table{1: a, -1: b} {
		for i, t := range tables {
			for at := range t.Rows {
				cell, key, there := fmt.Sprint(i, " "), fmt.Sprint(i, " "), len(rel.Plan.Columns) == 0
				for _, name := range rel.Plan.Columns {
					v := t.Columns[name]
					switch {
					case v.Codes != nil:
						there = there || v.Codes[at] >= 0
						key += fmt.Sprint(v.Codes[at], ",")
						if rel.Cells.Label(name) {
							cell += fmt.Sprint(v.Codes[at])
						}
					case v.Valid != nil && v.Valid[at>>3]>>(at&7)&1 == 0:
						key += ","
					default:
						there = true
						key += fmt.Sprint(v.Float64[at], ",")
					}
				}
				if there {
					counts[key] += sign
					in[key] = cell
				}
			}
		}
	}
	out := map[string]int64{}
	for key, n := range counts {
		if n > 0 {
			out[in[key]] += n
		}
	}
	return out
}
