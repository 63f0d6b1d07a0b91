package privacy

import (
	"fmt"
	"strings"
)

// Compose is several events on the same data. Two sampling events in a Compose
// are independent draws.
type Compose struct {
	Events []Event `event:""`
}

// Repeat is N independent runs of one event.
type Repeat struct {
	N     int64
	Event Event
}

// Poisson keeps every unit with probability Rate, each on its own coin.
type Poisson struct {
	Rate  float64
	Event Event
}

// WithoutReplacement draws Take of Of units without replacement. Under
// add-remove, Of is a public lower bound on the number of units.
type WithoutReplacement struct {
	Take  int64 `event:"n"`
	Of    int64 `event:"N"`
	Event Event
}

// WithReplacement draws Take times one of Of units.
type WithReplacement struct {
	Take  int64 `event:"n"`
	Of    int64 `event:"N"`
	Event Event
}

// Stage is one stage of a multistage design: Take of Of units below each unit
// of the stage above.
//
// Where units differ in size, Take and Of are those of the unit with the largest
// rate Take/Of. MaxTake is set only where units take unequal numbers: it is then
// the largest number taken below any one unit. It must be 0 where every unit of
// the stage takes Take, because unequal samples need more of the mechanism (P5).
type Stage struct {
	Take    int64 `json:"take"`
	Of      int64 `json:"of"`
	MaxTake int64 `json:"max_take,omitempty" event:"max_take"`
}

// Multistage draws units stage by stage without replacement; the last stage
// draws records (P5). A neighbour changes one record inside its ultimate unit.
// A stage that takes all is stratification.
type Multistage struct {
	Stages []Stage
	Event  Event
}

func (Compose) kind() string            { return "compose" }
func (Repeat) kind() string             { return "repeat" }
func (Poisson) kind() string            { return "poisson" }
func (WithoutReplacement) kind() string { return "without_replacement" }
func (WithReplacement) kind() string    { return "with_replacement" }
func (Multistage) kind() string         { return "multistage" }

// Inner returns the event that was run on the sample.
func (e Poisson) Inner() Event { return e.Event }

// Inner returns the event that was run on the sample.
func (e WithoutReplacement) Inner() Event { return e.Event }

// Inner returns the event that was run on the sample.
func (e WithReplacement) Inner() Event { return e.Event }

// Inner returns the event that was run on the sample.
func (e Multistage) Inner() Event { return e.Event }

// With returns the same draw with another inner event.
func (e Poisson) With(inner Event) Event { e.Event = inner; return e }

// With returns the same draw with another inner event.
func (e WithoutReplacement) With(inner Event) Event { e.Event = inner; return e }

// With returns the same draw with another inner event.
func (e WithReplacement) With(inner Event) Event { e.Event = inner; return e }

// With returns the same draw with another inner event.
func (e Multistage) With(inner Event) Event { e.Event = inner; return e }

var composeKind = declare[Compose](Kind{
	About:  "several events on the same data; two sampling events in it are independent draws",
	Also:   []string{"events", "composed", "sum"},
	Fields: []Field{{Example: "such as compose: [{pure: {eps: 1}}, {zcdp: {rho: 0.1}}]"}},
})

var repeatKind = declare[Repeat](Kind{
	About: "n independent runs",
	Also:  []string{"self_compose", "self_composed"},
	Fields: []Field{
		number("n", "n=", func(x float64) string {
			switch {
			case !(x >= 1):
				return "must be at least 1"
			case x > maxRepeat:
				return fmt.Sprintf("must lie between 1 and %g", float64(maxRepeat))
			}
			return ""
		}).most(1, maxRepeat).also("steps", "count", "times", "T", "num", "iterations"),
		inside(),
	},
})

var poissonKind = declare[Poisson](Kind{
	About: "every unit is kept with probability rate, on its own coin",
	Also:  []string{"poisson_sampled", "subsampled"},
	Fields: []Field{
		number("rate", "", func(x float64) string {
			switch {
			case !(x > 0 && x <= 1):
				return "must be above 0 and at most 1"
			case x < leastRate:
				return "is too small to calculate with: a larger one charges more"
			}
			return ""
		}).most(1e-12, 1).also("q", "p", "sampling_rate", "sampling_probability", "gamma", "sample_rate"),
		inside(),
	},
})

var withoutReplacementKind = declare[WithoutReplacement](Kind{
	About:  "n of N units; under add-remove N is a public lower bound",
	Also:   []string{"srswor", "wor", "sampled_without_replacement"},
	Fields: fixedSizeFields(),
	check: on(func(e WithoutReplacement, wrong complain) {
		if e.Take > e.Of {
			wrong("n", "must be at most N (%d > %d)", e.Take, e.Of)
		}
	}),
	head: headOfSize,
})

var withReplacementKind = declare[WithReplacement](Kind{
	About:  "n draws of one of N units each",
	Also:   []string{"wr", "sampled_with_replacement"},
	Fields: fixedSizeFields(),
	head:   headOfSize,
})

// size is n and N of a sample of fixed size; repeats says that n may exceed N.
func size(e Event) (take, of int64, repeats bool) {
	if e, ok := e.(WithoutReplacement); ok {
		return e.Take, e.Of, false
	}
	r, _ := e.(WithReplacement)
	return r.Take, r.Of, true
}

func headOfSize(e Event) string {
	take, of, _ := size(e)
	return fmt.Sprintf("%d of %d", take, of)
}

func fixedSizeFields() []Field {
	return []Field{
		number("n", "", atLeastOne).also("size", "sample_size").search(true, func(e Event) (float64, float64) {
			_, of, repeats := size(e)
			if repeats {
				return 1, 1e12
			}
			return 1, float64(of)
		}),
		number("N", "", atLeastOne).also("population", "source_dataset_size").search(false, func(e Event) (float64, float64) {
			take, _, repeats := size(e)
			if repeats {
				take = 1
			}
			return float64(take), 1e15
		}),
		inside(),
	}
}

var multistageKind = declare[Multistage](Kind{
	About: "stage by stage, take of of units below each unit of the stage above; the last stage takes records",
	Fields: []Field{
		{Name: "stages", Example: "such as stages: [{take: 2, of: 10}, {take: 5, of: 100}]", Fields: []Field{
			number("take", "", atLeastOne).also("n", "size", "sample_size"),
			number("of", "", atLeastOne).also("N", "population"),
			number("max_take", "", atLeastOne).optional(),
		}},
		inside(),
	},
	check: on(func(e Multistage, wrong complain) {
		for i, s := range e.Stages {
			at := fmt.Sprintf("stages[%d].take", i)
			if s.Take > s.Of {
				wrong(at, "must be at most of (%d > %d)", s.Take, s.Of)
			}
			if s.MaxTake > 0 && s.Take > s.MaxTake {
				wrong(at, "must be at most max_take (%d > %d)", s.Take, s.MaxTake)
			}
		}
	}),
	head: func(x Event) string {
		e, _ := x.(Multistage)
		stages := make([]string, len(e.Stages))
		for i, s := range e.Stages {
			stages[i] = fmt.Sprintf("%d of %d", s.Take, s.Of)
			if s.MaxTake > 0 {
				stages[i] += fmt.Sprintf(" (at most %d)", s.MaxTake)
			}
		}
		return strings.Join(stages, " › ")
	},
})
