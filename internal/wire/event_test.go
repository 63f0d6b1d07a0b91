package wire

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/dprelease/dprelease/internal/calls"
	"github.com/dprelease/dprelease/privacy"
)

// everyEvent holds one of each kind, with no field at its zero value.
var everyEvent = privacy.Compose{Events: []privacy.Event{
	privacy.Gaussian{Sigma: 1.5, Sensitivity: privacy.Sensitivity{AddRemove: 1, ReplaceOne: 3}},
	privacy.Laplace{Scale: 0x1.fffffffffffffp-3, Sensitivity: privacy.Sensitivity{ReplaceOne: 3}},
	privacy.DiscreteGaussian{Sigma: 1e6, Sensitivity: privacy.Sensitivity{AddRemove: 2}, Coordinates: 7},
	privacy.DiscreteLaplace{Scale: 12, Sensitivity: privacy.Sensitivity{AddRemove: 4, ReplaceOne: 4}},
	privacy.Pure{Eps: 0.1},
	privacy.Approx{Eps: 0.2, Delta: 1e-300},
	privacy.ZCDP{Rho: 0.3},
	privacy.RandomizedResponse{K: 17, Eps0: 0.4},
	privacy.Compose{},
	privacy.Repeat{N: math.MaxInt64, Event: privacy.Pure{Eps: 5e-324}},
	privacy.Poisson{Rate: 0.01, Event: privacy.Gaussian{Sigma: 2}},
	privacy.WithoutReplacement{Take: 3, Of: 9, Event: privacy.Pure{Eps: 1}},
	privacy.WithReplacement{Take: 4, Of: 8, Event: privacy.Pure{Eps: 1}},
	privacy.Multistage{Stages: []privacy.Stage{{Take: 1, Of: 2, MaxTake: 3}, {Take: 4, Of: 5}}, Event: privacy.Pure{Eps: 1}},
	privacy.Shuffled{N: 1000, Event: privacy.RandomizedResponse{K: 2, Eps0: 1}},
	privacy.LastIterate{Variant: "cyclic-convex", Early: 0.5, Rounding: 0.25, Sigma: 1, Sensitivity: 2, N: 3, Batch: 4, Steps: 5, Epochs: 6,
		StepSize: 7, Smooth: 8, StrongConvexity: 9, Diameter: 10},
}}

// newEvents are of kinds that version 1 has no message for.
var newEvents = []privacy.Event{privacy.BoundedRange{Eps: 0.7}, privacy.ByGroup{Event: privacy.Pure{Eps: 1}, Fixed: true},
	privacy.RowsOfUnit{Rows: 3, Event: privacy.Poisson{Rate: 0.1, Event: privacy.Pure{Eps: 1}}}, privacy.KeySelection{Eps: 1, Delta: 1e-6}, privacy.KeyThreshold{Delta: 1e-6}}

func TestEventRoundTrip(t *testing.T) {
	kinds := map[string]bool{}
	for i, e := range slices.Concat(newEvents, everyEvent.Events, []privacy.Event{everyEvent}) {
		kinds[e.Kind()] = true
		for version := OldVersion; version <= Version; version++ {
			m, err := FromEvent(version, e)
			if version == 1 && i < len(newEvents) {
				if err == nil {
					t.Errorf("%s is encoded in version 1", e.Kind())
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", e.Kind(), err)
			}
			b, err := proto.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			var back Event
			if err := proto.Unmarshal(b, &back); err != nil {
				t.Fatal(err)
			}
			got, err := ToEvent(version, &back)
			if err != nil || !reflect.DeepEqual(got, e) && !privacy.Equal(got, e) {
				t.Errorf("%s: got %+v, %v", e.Kind(), got, err)
			}
			// Neither version takes the form of the other.
			if _, err := ToEvent(OldVersion+Version-version, &back); err == nil {
				t.Errorf("%s: the form of version %d is taken in the other", e.Kind(), version)
			}
		}
	}
	for _, k := range privacy.Kinds() {
		if !kinds[k.Name] {
			t.Errorf("%s is not tested", k.Name)
		}
	}
	// Every field is filled above, so none can be lost unseen.
	for _, e := range everyEvent.Events {
		v := reflect.ValueOf(e)
		for i := range v.NumField() {
			if v.Field(i).IsZero() && e.Kind() != "compose" {
				if e.Kind() == "gaussian" || v.Type().Field(i).Name != "Coordinates" {
					t.Errorf("%s.%s is not tested", e.Kind(), v.Type().Field(i).Name)
				}
			}
		}
	}
}

func deep(n int) privacy.Event {
	var e privacy.Event = privacy.Pure{Eps: 1}
	for range n {
		e = privacy.Repeat{N: 1, Event: e}
	}
	return e
}

func TestEventRefused(t *testing.T) {
	wide := privacy.Compose{}
	for range MaxNodes {
		wide.Events = append(wide.Events, privacy.Pure{Eps: 1})
	}
	for name, e := range map[string]privacy.Event{
		"nil": nil, "pointer": &privacy.Pure{Eps: 1}, "nan": privacy.Pure{Eps: math.NaN()}, "inf": privacy.Gaussian{Sigma: math.Inf(1)},
		"sens-nan": privacy.Laplace{Scale: 1, Sensitivity: privacy.Sensitivity{AddRemove: math.NaN()}},
		"inner":    privacy.Poisson{Rate: 1}, "inner-nil": privacy.Compose{Events: []privacy.Event{nil}},
		"deep": deep(MaxDepth), "wide": wide,
	} {
		for version := OldVersion; version <= Version; version++ {
			if m, err := FromEvent(version, e); err == nil {
				t.Errorf("%s: encoded in version %d as %v", name, version, m)
			}
		}
	}
	for version := OldVersion; version <= Version; version++ {
		if _, err := FromEvent(version, deep(MaxDepth-1)); err != nil {
			t.Error(err)
		}
	}

	pure := &Event{Kind: &Event_Pure{&Pure{Eps: 1}}}
	tall := pure
	for range MaxDepth {
		tall = &Event{Kind: &Event_Repeat{&Repeat{N: 1, Event: tall}}}
	}
	unknown := proto.Clone(pure).(*Event)
	unknown.GetPure().ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 9, protowire.VarintType), 1))
	many := &Compose{}
	for range MaxNodes {
		many.Events = append(many.Events, pure)
	}
	for name, m := range map[string]*Event{
		"nil": nil, "empty": {}, "nan": {Kind: &Event_Pure{&Pure{Eps: math.NaN()}}}, "deep": tall,
		"wide": {Kind: &Event_Compose{many}}, "inner": {Kind: &Event_Poisson{&Poisson{Rate: 1}}}, "unknown": unknown,
		"unknown-inner": {Kind: &Event_Compose{&Compose{Events: []*Event{pure, unknown}}}},
		"k":             {Kind: &Event_RandomizedResponse{&RandomizedResponse{K: 1 << 40, Eps0: 1}}},
	} {
		if e, err := ToEvent(1, m); err == nil {
			t.Errorf("%s: decoded as %v", name, e)
		}
	}
	// The limits hold for canonical bytes too, and what is in them is looked at.
	for name, e := range map[string]privacy.Event{"deep": deep(MaxDepth), "wide": wide} {
		b, err := privacy.Canonical(e)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ToEvent(Version, &Event{Kind: &Event_Canonical{b}}); err == nil {
			t.Errorf("%s: decoded", name)
		}
	}
	other := &Event{Kind: &Event_Canonical{[]byte(`{"pure":{"eps":1}}`)}}
	if e, err := ToEvent(Version, other); err != nil || e != privacy.Event(privacy.Pure{Eps: 1}) {
		t.Errorf("got %v, %v", e, err)
	}
	other.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1))
	for name, m := range map[string]*Event{"nil": nil, "empty": {}, "no bytes": {Kind: &Event_Canonical{}}, "unknown field": other} {
		if e, err := ToEvent(Version, m); err == nil {
			t.Errorf("%s: decoded as %v", name, e)
		}
	}
}

// FuzzEvent: whatever is decoded, in either version, is encoded back to the same event,
// and nothing panics.
func FuzzEvent(f *testing.F) {
	for _, e := range append(everyEvent.Events, everyEvent, deep(20)) {
		for version := OldVersion; version <= Version; version++ {
			m, err := FromEvent(version, e)
			if err != nil {
				f.Fatal(err)
			}
			b, _ := proto.Marshal(m)
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m Event
		if proto.Unmarshal(b, &m) != nil {
			return
		}
		for version := OldVersion; version <= Version; version++ {
			e, err := ToEvent(version, &m)
			if err != nil {
				continue
			}
			back, err := FromEvent(version, e)
			if err != nil {
				t.Fatalf("decoded, not encoded: %v", err)
			}
			again, err := ToEvent(version, back)
			if err != nil || !reflect.DeepEqual(again, e) {
				t.Fatalf("%+v became %+v, %v", e, again, err)
			}
			if c, err := calls.New(e); err == nil {
				_ = c.Happened()
				_ = c.Done()
			}
		}
	})
}
