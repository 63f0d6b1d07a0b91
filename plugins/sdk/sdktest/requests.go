package sdktest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/dprelease/dprelease/internal/job/params"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// How far Requests looks.
const (
	maxParams   = 12  // different parameters that are kept
	maxTries    = 600 // parameters that are offered
	maxRequests = 24
)

// Columns are the declared columns of the requests that Requests makes: numbers
// and categories, with and without missing values, one that no neighbour changes.
func Columns() []sdk.Column {
	return []sdk.Column{
		{Name: "x", Type: sdk.Number, Lower: -1, Upper: 3, Missing: sdk.MissingRefuse},
		{Name: "y", Type: sdk.Number, Lower: 0, Upper: 100, Missing: sdk.MissingDrop},
		{Name: "z", Type: sdk.Number, Lower: 200, Upper: 1000, Missing: sdk.MissingImpute},
		{Name: "u", Type: sdk.Number, Lower: 0, Upper: 1, Missing: sdk.MissingRefuse},
		{Name: "g", Type: sdk.Category, Domain: []string{"g1", "g2", "g3"}, Missing: sdk.MissingDrop},
		{Name: "h", Type: sdk.Category, Domain: []string{"h1", "h2"}, Missing: sdk.MissingRefuse},
		{Name: "i", Type: sdk.Category, Domain: []string{"i1", "i2"}, Missing: sdk.MissingRefuse, Immutable: true},
	}
}

// Requests makes requests that the mechanism accepts: parameters out of its own
// schema, over Columns, for every design and relation that it claims.
func Requests(ctx context.Context, s Subject, seed uint64) ([]sdk.PlanRequest, error) {
	d, err := s.Describe(ctx)
	if err != nil {
		return nil, err
	}
	accepts, err := accepter(d.Params)
	if err != nil {
		return nil, fmt.Errorf("the schema of the parameters: %w", err)
	}
	publics := publics(d)
	targets := []privacy.Point{{Epsilon: 1, Delta: 1e-6}, {Epsilon: 1}, {Epsilon: 0.1, Delta: 1e-9}, {Epsilon: 4, Delta: 1e-3}}
	var home []sdk.PlanRequest // a request for each of the parameters that are kept
	tries, failed, refusal := 0, 0, error(nil)
	for _, raw := range candidates(d.Params) {
		if len(home) == maxParams || tries >= maxTries || failed == hopeless || ctx.Err() != nil {
			break
		}
		if !accepts(raw) {
			continue
		}
		for i := range 4 { // a refusal may be of the design or the target
			tries++
			req := sdk.PlanRequest{Params: raw, Public: publics[(len(home)+i)%len(publics)], Target: targets[i%2]}
			_, err := s.Plan(ctx, req)
			if errors.Is(err, ErrRefused) {
				if refusal == nil {
					refusal = fmt.Errorf("the first, with %s: %w", raw, err)
				}
			} else {
				failed++
				if err == nil {
					failed = 0
				}
				home = append(home, req)
				break
			}
		}
	}
	if len(home) == 0 {
		return nil, errors.Join(errors.New("no parameters were found that the mechanism accepts; give a job that uses it"), refusal)
	}
	if failed == hopeless {
		return home, nil
	}
	rng, all := rand.New(rand.NewPCG(seed, 1)), slices.Clone(home)
	for _, i := range rng.Perm(len(publics)) { // every design once, with some parameters
		more := 1
		if publics[i].Cap != nil { // where most mistakes need the right group
			more = 3
		}
		for try := 0; try < 6*more && more > 0; try++ {
			req := sdk.PlanRequest{Params: home[rng.IntN(len(home))].Params, Public: publics[i], Target: targets[rng.IntN(len(targets))]}
			if _, err := s.Plan(ctx, req); !errors.Is(err, ErrRefused) {
				all = append(all, req)
				more--
			}
		}
	}
	return all[:min(len(all), maxParams+maxRequests)], ctx.Err()
}

// publics are small tables of every design and relation that is claimed.
func publics(d sdk.Description) []sdk.Public {
	add, replace := []privacy.Relation{privacy.AddRemove}, []privacy.Relation{privacy.ReplaceOne}
	both := []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne}
	one := func(x sdk.Design) sdk.Design {
		x.EqualWeights = true
		if x.Rate > 0 {
			x.MinWeight, x.MaxWeight = 1/x.Rate, 1/x.Rate
		}
		return x
	}
	known := []sdk.Public{
		{Relation: privacy.AddRemove, SampleRelations: add, Design: one(sdk.Design{Kind: "full", Rate: 1})},
		{Relation: privacy.ReplaceOne, SampleRelations: replace, Population: 1,
			Design: one(sdk.Design{Kind: "full", Rate: 1, SampleSize: 1, LargestCount: 1})},
		{Relation: privacy.ReplaceOne, SampleRelations: replace, Population: 7,
			Design: one(sdk.Design{Kind: "full", Rate: 1, SampleSize: 7, LargestCount: 7})},
		{Relation: privacy.AddRemove, SampleRelations: add, Design: one(sdk.Design{Kind: "poisson", Rate: 0.25})},
		{Relation: privacy.ReplaceOne, SampleRelations: both, Population: 40,
			Design: one(sdk.Design{Kind: "poisson", Rate: 0.25, LargestCount: 40})},
		{Relation: privacy.ReplaceOne, SampleRelations: replace, Population: 24,
			Design: one(sdk.Design{Kind: "srswor", Rate: 0.25, SampleSize: 6, LargestCount: 6})},
		{Relation: privacy.AddRemove, SampleRelations: replace, Design: one(sdk.Design{Kind: "srswor", SampleSize: 2, LargestCount: 2})},
		{Relation: privacy.ReplaceOne, SampleRelations: replace, Population: 60,
			Design: sdk.Design{Kind: "multistage", MinWeight: 1.5, MaxWeight: 7.3, LargestCount: 12}},
		{Relation: privacy.ReplaceOne, SampleRelations: replace, Population: 30,
			Design: one(sdk.Design{Kind: "multistage", Rate: 0.2, SampleSize: 6, LargestCount: 6})},
		{Relation: privacy.ReplaceOne, SampleRelations: replace, Population: 60,
			Design: sdk.Design{Kind: "stratified", SampleSize: 5, MinWeight: 1, MaxWeight: 16, LargestCount: 5}},
		{Relation: privacy.AddRemove, SampleRelations: add, Design: sdk.Design{Kind: "stratified", MinWeight: 1, MaxWeight: 5}},
		{Relation: privacy.ReplaceOne, SampleRelations: replace, Population: 20,
			Design: one(sdk.Design{Kind: "collected", Rate: 0.25, SampleSize: 5, LargestCount: 5})},
	}
	// weights of a survey, which may be those of any row
	if (d.Linear || d.Capped) && (slices.Contains(d.Designs, "multistage") || slices.Contains(d.Designs, "stratified")) {
		known = append(known,
			sdk.Public{Relation: privacy.ReplaceOne, SampleRelations: replace,
				Design: sdk.Design{Kind: "full", Rate: 1, SampleSize: 6, MinWeight: 1, MaxWeight: 40, LargestCount: 6}},
			sdk.Public{Relation: privacy.AddRemove, SampleRelations: add, Design: sdk.Design{Kind: "full", Rate: 1, MinWeight: 5.5, MaxWeight: 21}})
	}
	if d.Capped { // units with several rows, of a few of these tables
		for i, c := range []sdk.Cap{{Groups: 2, Rows: 2}, {Groups: 1, Rows: 3}, {Groups: 3, Rows: 1}, {Groups: 2, Rows: 1, Times: 3}} {
			p := known[[]int{0, 2, 4, 10}[i]]
			p.Cap = &c
			known = append(known, p)
		}
	}
	var out []sdk.Public
	for _, p := range known {
		ok := slices.Contains(d.Designs, p.Design.Kind)
		for _, r := range p.SampleRelations {
			ok = ok && slices.Contains(d.Relations, r)
		}
		if ok {
			p.Columns = Columns()
			if len(out)%2 == 1 { // as behind a filter
				p.Columns[len(p.Columns)-1].Missing = sdk.MissingDrop
			}
			out = append(out, p)
		}
	}
	if len(out) == 0 { // an unknown design: offer what there is, and let it refuse
		out = append(out, known[0], known[2])
	}
	return out
}

// Size is the public number of records of the sample, or the most that it holds, or else that of the table; 0 where none is public.
func Size(req sdk.PlanRequest) int64 {
	return cmp.Or(req.Public.Design.SampleSize, req.Public.Design.LargestCount, req.Public.Population)
}

// Resized is the request for n records in the place of its Size, at the same rate. Where there is none it is the request itself.
func Resized(req sdk.PlanRequest, n int64) sdk.PlanRequest {
	p, d, by := &req.Public, &req.Public.Design, float64(n)/float64(Size(req))
	for _, size := range []*int64{&p.Population, &d.SampleSize, &d.LargestCount} {
		if *size > 0 {
			*size = max(1, int64(math.Round(float64(*size)*by)))
		}
	}
	if d.SampleSize > 0 && p.Population > 0 && d.EqualWeights {
		d.Rate = float64(d.SampleSize) / float64(p.Population)
		d.MinWeight, d.MaxWeight = 1/d.Rate, 1/d.Rate
	}
	return req
}

// accepter returns a function that reports whether the schema accepts parameters; none at
// all accepts everything.
func accepter(schema json.RawMessage) (func(json.RawMessage) bool, error) {
	if len(schema) == 0 {
		return func(raw json.RawMessage) bool { return json.Valid(raw) }, nil
	}
	s, err := params.Compile(schema)
	if err != nil {
		return nil, err
	}
	return func(raw json.RawMessage) bool { return s.Validate(raw) == nil }, nil
}

// property is the part of a JSON Schema that values are made from.
type property struct {
	Type       any                 `json:"type"`
	Enum       []any               `json:"enum"`
	Const      any                 `json:"const"`
	Default    any                 `json:"default"`
	Minimum    *float64            `json:"minimum"`
	Above      *float64            `json:"exclusiveMinimum"`
	Maximum    *float64            `json:"maximum"`
	Below      *float64            `json:"exclusiveMaximum"`
	Items      *property           `json:"items"`
	OneOf      []property          `json:"oneOf"`
	AnyOf      []property          `json:"anyOf"`
	AllOf      []property          `json:"allOf"`
	Required   []string            `json:"required"`
	Properties map[string]property `json:"properties"`
}

// candidates are parameters that may suit a schema: the required ones, then each
// optional one beside them.
func candidates(raw json.RawMessage) []json.RawMessage {
	var p property
	if len(raw) == 0 || json.Unmarshal(raw, &p) != nil {
		return []json.RawMessage{json.RawMessage(`{}`)}
	}
	bases := [][]string{p.Required}
	for _, branch := range slices.Concat(p.OneOf, p.AnyOf, p.AllOf) {
		if len(branch.Required) > 0 {
			bases = append(bases, slices.Concat(p.Required, branch.Required))
		}
	}
	sets := slices.Clone(bases)
	for _, name := range slices.Sorted(maps.Keys(p.Properties)) {
		for _, base := range bases {
			if !slices.Contains(base, name) {
				sets = append(sets, append(slices.Clone(base), name))
			}
		}
	}
	if _, grouped := p.Properties["by"]; grouped { // each parameter by group, too
		for _, set := range slices.Clone(sets) {
			if !slices.Contains(set, "by") {
				sets = append(sets, append(slices.Clone(set), "by"))
			}
		}
	}
	var per [][]json.RawMessage
	for _, set := range sets {
		per = append(per, fillings(p, set))
	}
	// One of each set in turn, so that a cut leaves something of every parameter.
	var out []json.RawMessage
	for i := 0; ; i++ {
		found := false
		for _, list := range per {
			if i < len(list) {
				out, found = append(out, list[i]), true
			}
		}
		if !found {
			return out
		}
	}
}

// fillings are mappings with exactly these keys.
func fillings(p property, keys []string) []json.RawMessage {
	const most = 200
	partial := []map[string]any{{}}
	for _, k := range keys {
		var next []map[string]any
		values := p.Properties[k].values()
		if k == "by" { // which names columns of groups (plugin-v1)
			values = slices.DeleteFunc(values, func(v any) bool { return !groups(v) })
		}
		for _, v := range values {
			for _, m := range partial {
				m = maps.Clone(m)
				m[k] = v
				if next = append(next, m); len(next) == most {
					break
				}
			}
		}
		partial = next[:min(len(next), most)]
	}
	var out []json.RawMessage
	for _, m := range partial {
		if b, err := json.Marshal(m); err == nil {
			out = append(out, b)
		}
	}
	return out
}

// groups reports whether a value names categories.
func groups(v any) bool {
	names, ok := v.([]any)
	if !ok {
		names = []any{v}
	}
	return !slices.ContainsFunc(names, func(n any) bool {
		return !slices.ContainsFunc(Columns(), func(c sdk.Column) bool { return c.Name == n && c.Type == sdk.Category })
	})
}

// values are some that the property may allow, its default last: what says the same
// as saying nothing is tried where nothing is said.
func (p property) values() []any {
	if p.Default == nil {
		return p.others()
	}
	out := slices.DeleteFunc(p.others(), func(v any) bool { return reflect.DeepEqual(v, p.Default) })
	return append(out, p.Default)
}

// others are some values that the property may allow, besides its default.
func (p property) others() []any {
	var out []any
	if p.Const != nil {
		out = append(out, p.Const)
	}
	out = append(out, p.Enum...)
	for _, branch := range slices.Concat(p.OneOf, p.AnyOf) {
		out = append(out, branch.values()...)
	}
	if len(p.Enum) > 0 {
		return out
	}
	kinds, _ := p.Type.([]any)
	if kinds == nil {
		kinds = []any{p.Type}
	}
	for _, kind := range kinds {
		switch kind {
		case "boolean":
			out = append(out, true, false)
		case "integer", "number":
			out = append(out, p.numbers(kind == "integer")...)
		case "string":
			for _, c := range Columns() {
				out = append(out, c.Name)
			}
			for _, c := range Columns() {
				for _, value := range c.Domain {
					out = append(out, value)
				}
			}
		case "array":
			if p.Items != nil {
				items := p.Items.values()
				for _, v := range items {
					out = append(out, []any{v})
				}
				for i := range len(items) - 1 {
					out = append(out, []any{items[i], items[i+1]})
				}
			}
		case "object":
			out = append(out, map[string]any{})
		}
	}
	return out
}

func (p property) numbers(whole bool) []any {
	var out []any
	for _, x := range []float64{3, 0.5, 1, 0.1, 2, 10, 0, -1} {
		if p.Minimum != nil && x < *p.Minimum || p.Above != nil && x <= *p.Above || p.Maximum != nil && x > *p.Maximum ||
			p.Below != nil && x >= *p.Below || whole && x != float64(int(x)) {
			continue
		}
		if whole {
			out = append(out, int(x))
		} else {
			out = append(out, x)
		}
	}
	return out
}
