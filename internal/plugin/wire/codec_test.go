package wire

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/specs"
)

var (
	someDescription = sdk.Description{
		Name: "mean", Version: "1.2.3", Summary: "a mean", Params: []byte(`{"type":"object"}`),
		Relations: []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne}, Designs: []string{"full", "srswor"}, SelfNoising: true,
		Grouped: true, Capped: true, Linear: true, Weighted: true, DeclaresFinish: true, DeclaresQuery: true,
	}
	someRequest = sdk.PlanRequest{
		Params: []byte(`{"column":"x"}`),
		Public: sdk.Public{
			Relation: privacy.ReplaceOne, SampleRelations: []privacy.Relation{privacy.ReplaceOne, privacy.AddRemove}, Population: 6194,
			Design: sdk.Design{Kind: "srswor", Rate: 0.1, SampleSize: 619, MinWeight: 1.5, MaxWeight: 10, EqualWeights: true, LargestCount: 700},
			Columns: []sdk.Column{
				{Name: "x", Type: sdk.Number, Lower: -1, Upper: 0x1.fffffffffffffp+100, Missing: sdk.MissingImpute, Immutable: true},
				{Name: "g", Type: sdk.Category, Missing: sdk.MissingDrop, Domain: []string{"a", "", "ü"}},
				{Name: "h", Type: sdk.Category, Missing: sdk.MissingRefuse, Domain: []string{"a"}},
			},
			Cap: &sdk.Cap{Groups: 3, Rows: 4, Times: 5},
		},
		Target: privacy.Point{Epsilon: 0.1, Delta: 1e-9}, InRho: true,
	}
	somePlan = sdk.Plan{
		Columns: []string{"x", "g"}, Rows: 3,
		Event:  privacy.Compose{Events: []privacy.Event{privacy.DiscreteLaplace{Scale: 3}, privacy.DiscreteGaussian{Sigma: 4, Coordinates: 2}}},
		Output: []sdk.Field{{Name: "estimate", Type: sdk.Float64, Granularity: 0.25, Doc: "what it is", Of: []string{"x"}, Per: []string{"y"}, Value: "sum * step", Statistic: sdk.StatisticTotal}, {Name: "n", Type: sdk.Int64}, {Name: "g", Type: sdk.String}},
		Errors: []sdk.ExpectedError{{Field: "estimate", NoiseSD: 1.5, Half95: 3, Note: "noise only", Over: &sdk.Term{NoiseSD: 1, Half95: 2, Unsure: 3, Linear: sdk.Linear{Column: "x", Low: 1, High: 2, Scale: 3, Adds: "y"}}, Above: &sdk.Term{NoiseSD: 4, Half95: 5, Unsure: 6, Linear: sdk.Linear{Column: "x", Low: 1, High: 2, Scale: 3, Adds: "y"}},
			Linear: &sdk.Linear{Column: "x", Low: -1, High: 2, Scale: 0.5, Adds: "y"}, SamplingNote: "never both, but both are carried", Unsure: 0.5}},
		Finish: &sdk.Finish{Constants: []sdk.Constant{{Name: "step", Numbers: []float64{0.5}, Texts: []string{"never both, but both are carried"}}},
			Noise: []sdk.NoiseColumns{{Columns: []string{"sum"}, Quantiles: &sdk.Quantiles{Edges: []float64{1, 2}, At: []float64{0.5}}, Units: []float64{0.5}}}},
		Queries: []sdk.Query{{Cells: []sdk.Split{{Value: "g", Texts: []string{"a"}, Count: 3}}, Norm: 2,
			Coordinates: []sdk.Coordinate{{Value: "x", Low: -1, High: 2, Lattice: 0.5}}}}, Noise: "laplace",
	}
	someRelease = sdk.ReleaseRequest{PlanRequest: someRequest, Plan: somePlan}
)

// filled fails the test if v, or anything inside it, has its zero value: a field
// that is not filled could be lost by the codec unseen.
func filled(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Name != "_" {
				filled(t, path+"."+f.Name, v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Len() == 0 {
			t.Errorf("%s is not filled", path)
		} else if v.Type().Elem().Kind() == reflect.Struct && path != "Plan.Output" && path != "ReleaseRequest.Plan.Output" && v.Type().Elem().Name() != "Column" {
			filled(t, path+"[0]", v.Index(0))
		}
	case reflect.Interface:
		if v.IsNil() {
			t.Errorf("%s is not filled", path)
		}
	case reflect.Pointer:
		if v.IsNil() {
			t.Errorf("%s is not filled", path)
		} else {
			filled(t, path, v.Elem())
		}
	default:
		if v.IsZero() {
			t.Errorf("%s is not filled", path)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for name, c := range map[string]struct {
		in   any
		trip func() (any, error)
	}{
		"Description":    {someDescription, func() (any, error) { return trip(someDescription, FromDescription, ToDescription) }},
		"PlanRequest":    {someRequest, func() (any, error) { return trip(someRequest, fromRequest, ToPlanRequest) }},
		"Plan":           {somePlan, func() (any, error) { return trip(somePlan, FromPlan, ToPlan) }},
		"ReleaseRequest": {someRelease, func() (any, error) { return trip(someRelease, fromRelease, ToReleaseRequest) }},
	} {
		filled(t, name, reflect.ValueOf(c.in))
		if out, err := c.trip(); err != nil || !reflect.DeepEqual(out, c.in) {
			t.Errorf("%s: %+v became %+v, %v", name, c.in, out, err)
		}
	}
}

func fromRequest(r sdk.PlanRequest) (*PlanRequest, error) { return FromPlanRequest("m", r) }
func fromRelease(r sdk.ReleaseRequest) (*ReleaseRequest, error) {
	return FromReleaseRequest("m", r)
}

// trip sends a value over the wire.
func trip[A any, B any, M interface {
	*B
	proto.Message
}](in A, from func(A) (M, error), to func(M) (A, error)) (out A, err error) {
	m, err := from(in)
	if err != nil {
		return out, err
	}
	b, err := proto.Marshal(m)
	if err != nil {
		return out, err
	}
	var back M = new(B)
	if err := errors.Join(proto.Unmarshal(b, back), Known(back)); err != nil {
		return out, err
	}
	return to(back)
}

func TestNotEncoded(t *testing.T) {
	for name, change := range map[string]func(*sdk.ReleaseRequest){
		"relation":        func(r *sdk.ReleaseRequest) { r.Public.Relation = 0 },
		"sample-relation": func(r *sdk.ReleaseRequest) { r.Public.SampleRelations = []privacy.Relation{9} },
		"target":          func(r *sdk.ReleaseRequest) { r.Target.Delta = math.NaN() },
		"rate":            func(r *sdk.ReleaseRequest) { r.Public.Design.Rate = math.Inf(1) },
		"bounds": func(r *sdk.ReleaseRequest) {
			r.Public.Columns = []sdk.Column{{Name: "x", Type: sdk.Number, Missing: sdk.MissingDrop, Lower: math.Inf(-1)}}
		},
		"column-type": func(r *sdk.ReleaseRequest) { r.Public.Columns = []sdk.Column{{Name: "x", Missing: sdk.MissingDrop}} },
		"missing":     func(r *sdk.ReleaseRequest) { r.Public.Columns = []sdk.Column{{Name: "x", Type: sdk.Number}} },
		"event":       func(r *sdk.ReleaseRequest) { r.Plan.Event, r.Plan.Queries = nil, nil },
		"field-type":  func(r *sdk.ReleaseRequest) { r.Plan.Output = []sdk.Field{{Name: "x", Type: "bool"}} },
		"granularity": func(r *sdk.ReleaseRequest) {
			r.Plan.Output = []sdk.Field{{Name: "x", Type: sdk.Float64, Granularity: math.NaN()}}
		},
		"linear": func(r *sdk.ReleaseRequest) {
			r.Plan.Errors = []sdk.ExpectedError{{Field: "x", Linear: &sdk.Linear{High: math.NaN()}}}
		},
		"error": func(r *sdk.ReleaseRequest) { r.Plan.Errors = []sdk.ExpectedError{{Field: "x", NoiseSD: math.Inf(1)}} },
	} {
		r := someRelease
		change(&r)
		if _, err := fromRelease(r); err == nil {
			t.Errorf("%s is encoded", name)
		}
	}
}

// FuzzPlan: whatever is decoded is encoded back to the same, and checks never panic.
func FuzzPlan(f *testing.F) {
	for _, from := range []func() (proto.Message, error){
		func() (proto.Message, error) { return FromPlan(somePlan) },
		func() (proto.Message, error) { return FromDescription(someDescription) },
		func() (proto.Message, error) { return fromRelease(someRelease) },
	} {
		m, err := from()
		if err != nil {
			f.Fatal(err)
		}
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, ok := decoded(b, ToPlan); ok {
			back, err := trip(p, FromPlan, ToPlan)
			if err != nil || !reflect.DeepEqual(back, p) {
				t.Fatalf("%+v became %+v, %v", p, back, err)
			}
			_ = p.Check(someRequest)
			_ = sdk.Result{Columns: make([]sdk.ResultColumn, len(p.Output))}.Check(p)
		}
		if r, ok := decoded(b, ToReleaseRequest); ok {
			if back, err := trip(r, fromRelease, ToReleaseRequest); err != nil || !reflect.DeepEqual(back, r) {
				t.Fatalf("%+v became %+v, %v", r, back, err)
			}
		}
		if d, ok := decoded(b, ToDescription); ok {
			if back, err := trip(d, FromDescription, ToDescription); err != nil || !reflect.DeepEqual(back, d) {
				t.Fatalf("%+v became %+v, %v", d, back, err)
			}
			_ = d.Check()
		}
	})
}

// decoded returns the content of bytes that are a readable message.
func decoded[A any, B any, M interface {
	*B
	proto.Message
}](b []byte, to func(M) (A, error)) (out A, ok bool) {
	var m M = new(B)
	if proto.Unmarshal(b, m) != nil || Known(m) != nil {
		return out, false
	}
	out, err := to(m)
	return out, err == nil
}

// TestPagesSayTheLimits: the pages and the file of the protocol say the same, and what the
// program does.
func TestPagesSayTheLimits(t *testing.T) {
	for path, want := range map[string][]string{
		"plugin-v1.md": {"at most 4,128,768 bytes", "at most 67,108,864 bytes",
			"A plugin MUST ignore fields that it does not know", "The host MUST refuse a message with fields that it does not know"},
		"plugin/v1/mechanism.proto": {"at most 4,128,768 bytes", "at most 67,108,864 bytes",
			"the host MUST refuse a message with fields that are not in this file", "a plugin MUST ignore fields that it does not know"},
	} {
		text, err := specs.FS.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		plain := strings.Join(strings.Fields(strings.ReplaceAll(string(text), "//", " ")), " ")
		for _, w := range want {
			if !strings.Contains(plain, w) {
				t.Errorf("%s does not say: %s", path, w)
			}
		}
	}
	if MaxMessage != 4_128_768 || MaxNoiseMessage != 67_108_864 {
		t.Errorf("the limits are %d and %d", MaxMessage, MaxNoiseMessage)
	}
}
