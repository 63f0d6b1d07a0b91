package sdk

import (
	"encoding"
	"math"
	"reflect"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/dprelease/dprelease/privacy"
)

var (
	someDescription = Description{
		Name: "mean", Version: "1.2.3", Summary: "a mean", Params: []byte(`{"type":"object"}`),
		Relations: []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne}, Designs: []string{"full", "srswor"}, SelfNoising: true,
	}
	someRequest = PlanRequest{
		Params: []byte(`{"column":"x"}`),
		Public: Public{
			Relation: privacy.ReplaceOne, SampleRelations: []privacy.Relation{privacy.ReplaceOne, privacy.AddRemove}, Population: 6194,
			Design: Design{Kind: "srswor", Rate: 0.1, SampleSize: 619, MinWeight: 1.5, MaxWeight: 10, EqualWeights: true, LargestCount: 700},
			Columns: []Column{
				{Name: "x", Type: Number, Lower: -1, Upper: 0x1.fffffffffffffp+100, Missing: MissingImpute, Immutable: true},
				{Name: "g", Type: Category, Missing: MissingDrop, Domain: []string{"a", "", "ü"}},
				{Name: "h", Type: Category, Missing: MissingRefuse, Domain: []string{"a"}},
			},
		},
		Target: privacy.Point{Epsilon: 0.1, Delta: 1e-9},
	}
	somePlan = Plan{
		Columns: []string{"x", "g"}, Rows: 3,
		Event:  privacy.Compose{Events: []privacy.Event{privacy.DiscreteLaplace{Scale: 3}, privacy.DiscreteGaussian{Sigma: 4, Coordinates: 2}}},
		Output: []Field{{Name: "estimate", Type: Float64, Granularity: 0.25, Doc: "what it is"}, {Name: "n", Type: Int64}, {Name: "g", Type: String}},
		Errors: []ExpectedError{{Field: "estimate", NoiseSD: 1.5, Half95: 3, Note: "noise only",
			Linear: &Linear{Column: "x", Low: -1, High: 2, Scale: 0.5}, SamplingNote: "never both, but both are carried"}},
	}
	someRelease = ReleaseRequest{Params: someRequest.Params, Public: someRequest.Public, Target: someRequest.Target, Plan: somePlan}
)

type message interface {
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

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
	default:
		if v.IsZero() {
			t.Errorf("%s is not filled", path)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for _, c := range []struct{ in, out message }{
		{&someDescription, &Description{}}, {&someRequest, &PlanRequest{}}, {&somePlan, &Plan{}}, {&someRelease, &ReleaseRequest{}},
	} {
		name := reflect.TypeOf(c.in).Elem().Name()
		filled(t, name, reflect.ValueOf(c.in).Elem())
		b, err := c.in.MarshalBinary()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again, _ := c.in.MarshalBinary()
		if !reflect.DeepEqual(b, again) {
			t.Errorf("%s: encoding is not deterministic", name)
		}
		if err := c.out.UnmarshalBinary(b); err != nil || !reflect.DeepEqual(c.in, c.out) {
			t.Errorf("%s: %+v became %+v, %v", name, c.in, c.out, err)
		}
		unknown := protowire.AppendVarint(protowire.AppendTag(b, 99, protowire.VarintType), 1)
		if err := c.out.UnmarshalBinary(unknown); err == nil {
			t.Errorf("%s: an unknown field is accepted", name)
		}
		if err := c.out.UnmarshalBinary([]byte{0xff}); err == nil {
			t.Errorf("%s: garbage is accepted", name)
		}
	}
}

func TestNotEncoded(t *testing.T) {
	for name, change := range map[string]func(*ReleaseRequest){
		"relation":        func(r *ReleaseRequest) { r.Public.Relation = 0 },
		"sample-relation": func(r *ReleaseRequest) { r.Public.SampleRelations = []privacy.Relation{9} },
		"target":          func(r *ReleaseRequest) { r.Target.Delta = math.NaN() },
		"rate":            func(r *ReleaseRequest) { r.Public.Design.Rate = math.Inf(1) },
		"bounds": func(r *ReleaseRequest) {
			r.Public.Columns = []Column{{Name: "x", Type: Number, Missing: MissingDrop, Lower: math.Inf(-1)}}
		},
		"column-type": func(r *ReleaseRequest) { r.Public.Columns = []Column{{Name: "x", Missing: MissingDrop}} },
		"missing":     func(r *ReleaseRequest) { r.Public.Columns = []Column{{Name: "x", Type: Number}} },
		"event":       func(r *ReleaseRequest) { r.Plan.Event = nil },
		"field-type":  func(r *ReleaseRequest) { r.Plan.Output = []Field{{Name: "x", Type: "bool"}} },
		"granularity": func(r *ReleaseRequest) { r.Plan.Output = []Field{{Name: "x", Type: Float64, Granularity: math.NaN()}} },
		"linear": func(r *ReleaseRequest) {
			r.Plan.Errors = []ExpectedError{{Field: "x", Linear: &Linear{High: math.NaN()}}}
		},
		"error": func(r *ReleaseRequest) { r.Plan.Errors = []ExpectedError{{Field: "x", NoiseSD: math.Inf(1)}} },
	} {
		r := someRelease
		change(&r)
		if _, err := r.MarshalBinary(); err == nil {
			t.Errorf("%s is encoded", name)
		}
	}
}

// FuzzPlan: whatever is decoded is encoded back to the same, and checks never panic.
func FuzzPlan(f *testing.F) {
	for _, m := range []encoding.BinaryMarshaler{somePlan, someRelease, someRequest, someDescription} {
		b, err := m.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, m := range []message{&Plan{}, &ReleaseRequest{}, &PlanRequest{}, &Description{}} {
			if m.UnmarshalBinary(b) != nil {
				continue
			}
			again, err := m.MarshalBinary()
			if err != nil {
				t.Fatalf("decoded, not encoded: %v", err)
			}
			back := reflect.New(reflect.TypeOf(m).Elem()).Interface().(message)
			if err := back.UnmarshalBinary(again); err != nil || !reflect.DeepEqual(back, m) {
				t.Fatalf("%+v became %+v, %v", m, back, err)
			}
		}
		var p Plan
		if p.UnmarshalBinary(b) == nil {
			_, _ = p.Check(someRequest), p.CheckCalls()
			_ = Result{Columns: make([]ResultColumn, len(p.Output))}.Check(p)
		}
		var d Description
		if d.UnmarshalBinary(b) == nil {
			_ = d.Check()
		}
	})
}
