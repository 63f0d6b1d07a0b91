package privacy

import (
	"reflect"
	"testing"
)

// everyKind holds an event of each kind that is valid and holds no zero but where a
// field may be absent.
var everyKind = []Event{
	Gaussian{Sigma: 2, Sensitivity: Sensitivity{AddRemove: 1, ReplaceOne: 1.5}}, Laplace{Scale: 2, Sensitivity: Sensitivity{AddRemove: 1}},
	DiscreteGaussian{Sigma: 2, Sensitivity: Sensitivity{AddRemove: 2}, Coordinates: 3}, DiscreteLaplace{Scale: 2, Sensitivity: Sensitivity{ReplaceOne: 2}},
	Pure{1}, Approx{1, 1e-6}, ZCDP{.1}, BoundedRange{Eps: 1}, KeySelection{1, 1e-6}, KeyThreshold{1e-6, 2, 3}, RandomizedResponse{3, 1},
	Compose{[]Event{Pure{1}, ZCDP{.1}}}, Repeat{3, Pure{1}}, Poisson{.1, Pure{1}}, WithoutReplacement{1, 2, Pure{1}}, WithReplacement{1, 2, Pure{1}},
	Multistage{[]Stage{{1, 2, 0}, {3, 5, 4}}, Pure{1}}, ByGroup{Pure{1}, true}, RowsOfUnit{3, .5, Poisson{.1, Pure{1}}},
	Rotation{Waves: 4, Patterns: []Pattern{{[]int64{1, 2}, 1}}, Event: Pure{1}}, Shuffled{10, RandomizedResponse{3, 1}},
	LastIterate{Variant: "cyclic-strongly-convex", Sigma: 8, Sensitivity: 1, N: 100, Batch: 10, Epochs: 3, StepSize: .1, Smooth: 1, StrongConvexity: .1},
}

// Each kind is declared, says what it is, and every Go field of it is declared once.
func TestEveryKindIsDeclared(t *testing.T) {
	if len(everyKind) != len(Kinds()) {
		t.Fatalf("%d events for %d kinds", len(everyKind), len(Kinds()))
	}
	for i, k := range Kinds() {
		e := everyKind[i]
		if got, ok := KindOf(e); !ok || got != k || k.Name != e.kind() || k.About == "" {
			t.Errorf("%T is declared as %+v", e, got)
		}
		if err := Validate(e); err != nil {
			t.Errorf("%s: %v", k.Name, err)
		}
		declaredOnce(t, k.Name, k.Fields, reflect.TypeOf(e))
		copied := k.New()
		for j := range k.Fields {
			f := &k.Fields[j]
			f.In(copied).Set(f.In(reflect.ValueOf(e)))
			if f.Search != nil {
				if lo, hi := f.Search.Range(e); !(lo > 0 && lo <= hi) {
					t.Errorf("%s.%s is searched in [%g, %g]", k.Name, f.Name, lo, hi)
				}
			}
		}
		if !reflect.DeepEqual(copied.Interface(), e) {
			t.Errorf("%#v was copied as %#v", e, copied.Interface())
		}
		var other []Event
		for range Children(e) {
			other = append(other, Laplace{Scale: 3})
		}
		if again := Children(WithChildren(e, other)); !reflect.DeepEqual(again, other) {
			t.Errorf("%s holds %v, want %v", k.Name, again, other)
		}
		_, bounds := e.(bounded)
		_, samples := e.(Sampling)
		_, composes := e.(Compose)
		_, repeats := e.(Repeat)
		joined := lattice(e, ReplaceOne) > 0 // Gaussian noises on the same data
		if !bounds && !samples && !composes && !repeats && !joined {
			t.Errorf("no method accounts for %s", k.Name)
		}
	}
	if _, ok := KindOf(nil); ok {
		t.Error("a missing event has a kind")
	}
	if _, ok := KindOf(&Pure{1}); ok {
		t.Error("a pointer has a kind")
	}
}

func declaredOnce(t *testing.T, name string, fields []Field, typ reflect.Type) {
	t.Helper()
	seen := map[int]string{}
	for _, f := range fields {
		if before, twice := seen[f.index]; twice {
			t.Errorf("%s.%s and .%s are one field", name, before, f.Name)
		}
		seen[f.index] = f.Name
		if inner := typ.Field(f.index).Type; f.Shape == Record {
			declaredOnce(t, name+"."+f.Name, f.Fields, inner)
		} else if f.Shape == Records {
			declaredOnce(t, name+"."+f.Name, f.Fields, inner.Elem())
		} else if (f.Shape == Number || f.Shape == Whole) && f.check == nil {
			t.Errorf("nothing checks %s.%s", name, f.Name)
		}
	}
	if len(seen) != typ.NumField() {
		t.Errorf("%s declares %d of %d fields", name, len(seen), typ.NumField())
	}
}

// A field that is out of range is told with its path and what it must be, by the
// declaration alone.
func TestDeclaredChecks(t *testing.T) {
	for _, c := range []struct {
		e    Event
		want string
	}{
		{BoundedRange{Eps: -1}, "bounded_range.eps: must not be negative (-1)"},
		{Compose{[]Event{Pure{1}, Repeat{2, BoundedRange{Eps: -1}}}}, "compose[1].repeat.event.bounded_range.eps: must not be negative (-1)"},
		{Multistage{[]Stage{{1, 2, 0}, {0, 5, 0}}, Pure{1}}, "multistage.stages[1].take: must be at least 1 (0)"},
		{Multistage{[]Stage{{3, 4, 2}}, Pure{1}}, "multistage.stages[0].take: must be at most max_take (3 > 2)"},
		{DiscreteGaussian{Sigma: 1, Coordinates: -1}, "discrete_gaussian.coordinates: must be at least 1 (-1)"},
	} {
		if err := Validate(c.e); err == nil || err.Error() != c.want {
			t.Errorf("%v: %v, want %s", c.e, err, c.want)
		}
	}
}
