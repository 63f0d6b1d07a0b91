package privacy

// Event is an expression that says what was done to the data (P3). The set of
// events is closed: every evaluator knows every event or says that it does not.
type Event interface {
	// Kind is the event's name in specifications, such as "gaussian".
	Kind() string
	event()
}

// Sampling is an event that draws a sample and runs its inner event on it. All
// that is released from one draw stands inside one Sampling event (P4).
type Sampling interface {
	Event
	// Inner is what was run on the sample.
	Inner() Event
	// With returns the same draw with another inner event.
	With(inner Event) Event
}

// Sensitivity is how far a query moves between neighbours, under each relation.
// The zero value stands for 1 under add-remove and 2 under replace-one: what a
// value of norm at most 1 does to a sum. Where only AddRemove is given,
// ReplaceOne is twice that, so that the doubling under replace-one cannot be
// forgotten; a query whose replace-one sensitivity is smaller says so by setting
// both. Nothing follows from ReplaceOne alone: replacing one value of [100, 101]
// by another moves a sum by 1, removing it by 101.
type Sensitivity struct {
	AddRemove  float64 `json:"add-remove,omitempty"`
	ReplaceOne float64 `json:"replace-one,omitempty"`
}

// Under returns the sensitivity under r, or 0 where it is not known: for an
// invalid relation, and under add-remove when only ReplaceOne was given.
func (s Sensitivity) Under(r Relation) float64 {
	if s == (Sensitivity{}) {
		s.AddRemove = 1
	}
	switch {
	case r == AddRemove:
		return s.AddRemove
	case r == ReplaceOne && s.ReplaceOne == 0:
		return 2 * s.AddRemove
	case r == ReplaceOne:
		return s.ReplaceOne
	}
	return 0
}

// Gaussian is one draw of N(0, Sigma²) noise on a query of the given L2
// sensitivity.
type Gaussian struct {
	Sigma       float64
	Sensitivity Sensitivity
}

// Laplace is Laplace noise of the given scale on each coordinate of a query of
// the given L1 sensitivity.
type Laplace struct {
	Scale       float64
	Sensitivity Sensitivity
}

// DiscreteGaussian is noise with P(x) ∝ exp(−x²/2Sigma²) on the integers, on each
// coordinate of an integer-valued query of the given L2 sensitivity.
type DiscreteGaussian struct {
	Sigma       float64
	Sensitivity Sensitivity
	// Coordinates is how many coordinates may differ between neighbours; 0
	// stands for 1.
	Coordinates int64
}

// DiscreteLaplace is noise with P(x) ∝ exp(−|x|/Scale) on the integers, on each
// coordinate of an integer-valued query of the given L1 sensitivity.
type DiscreteLaplace struct {
	Scale       float64
	Sensitivity Sensitivity // whole numbers
}

// Pure is any mechanism that is Eps-differentially private.
type Pure struct{ Eps float64 }

// Approx is any mechanism that is (Eps, Delta)-differentially private.
type Approx struct{ Eps, Delta float64 }

// ZCDP is any mechanism that is Rho-zero-concentrated differentially private.
type ZCDP struct{ Rho float64 }

// RandomizedResponse is K-ary randomized response: the true category with
// probability e^Eps0/(e^Eps0+K−1), else one of the others at random.
type RandomizedResponse struct {
	K    int
	Eps0 float64
}

// Compose is several events on the same data. Two sampling events in a Compose
// are independent draws.
type Compose struct{ Events []Event }

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
	Take, Of int64
	Event    Event
}

// WithReplacement draws Take times one of Of units.
type WithReplacement struct {
	Take, Of int64
	Event    Event
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
	MaxTake int64 `json:"max_take,omitempty"`
}

// Multistage draws units stage by stage without replacement; the last stage
// draws records (P5). A neighbour changes one record inside its ultimate unit.
// A stage that takes all is stratification.
type Multistage struct {
	Stages []Stage
	Event  Event
}

// Shuffled is N users who each run Event, a local randomizer, before a trusted
// shuffler permutes the reports (P8).
type Shuffled struct {
	N     int64
	Event Event
}

// LastIterate is noisy gradient descent of which only the last iterate is
// released (P9). Variant names the bound: "full-batch-strongly-convex",
// "full-batch-convex", "cyclic-strongly-convex", "cyclic-convex" or "one-pass".
// In a cyclic run and in one pass a record is in one batch, which does not depend
// on any value.
type LastIterate struct {
	Variant         string
	Sigma           float64 // standard deviation of the noise added to the averaged gradient
	Sensitivity     float64 // L: sup‖∇f_i − ∇f_i'‖
	Early           float64 // noise of all steps but the last, as a share of Sigma (one pass; 0: 1)
	Rounding        float64 // what rounding adds to the distance of two runs in a step, divided by η (0: exact)
	N, Batch        int64   // records, and the most in a batch, which its sum is divided by (Batch 0: all)
	Steps           int64   // steps (full batch)
	Epochs          int64   // passes (cyclic)
	StepSize        float64 // η
	Smooth          float64 // M
	StrongConvexity float64 // m, 0 where only convex
	Diameter        float64 // D of the public convex set, 0 where unconstrained
}

func (Gaussian) event()           {}
func (Laplace) event()            {}
func (DiscreteGaussian) event()   {}
func (DiscreteLaplace) event()    {}
func (Pure) event()               {}
func (Approx) event()             {}
func (ZCDP) event()               {}
func (RandomizedResponse) event() {}
func (Compose) event()            {}
func (Repeat) event()             {}
func (Poisson) event()            {}
func (WithoutReplacement) event() {}
func (WithReplacement) event()    {}
func (Multistage) event()         {}
func (Shuffled) event()           {}
func (LastIterate) event()        {}

// Kind is "gaussian".
func (Gaussian) Kind() string { return "gaussian" }

// Kind is "laplace".
func (Laplace) Kind() string { return "laplace" }

// Kind is "discrete_gaussian".
func (DiscreteGaussian) Kind() string { return "discrete_gaussian" }

// Kind is "discrete_laplace".
func (DiscreteLaplace) Kind() string { return "discrete_laplace" }

// Kind is "pure".
func (Pure) Kind() string { return "pure" }

// Kind is "approx".
func (Approx) Kind() string { return "approx" }

// Kind is "zcdp".
func (ZCDP) Kind() string { return "zcdp" }

// Kind is "randomized_response".
func (RandomizedResponse) Kind() string { return "randomized_response" }

// Kind is "compose".
func (Compose) Kind() string { return "compose" }

// Kind is "repeat".
func (Repeat) Kind() string { return "repeat" }

// Kind is "poisson".
func (Poisson) Kind() string { return "poisson" }

// Kind is "without_replacement".
func (WithoutReplacement) Kind() string { return "without_replacement" }

// Kind is "with_replacement".
func (WithReplacement) Kind() string { return "with_replacement" }

// Kind is "multistage".
func (Multistage) Kind() string { return "multistage" }

// Kind is "shuffled".
func (Shuffled) Kind() string { return "shuffled" }

// Kind is "last_iterate".
func (LastIterate) Kind() string { return "last_iterate" }

// Inner is what was run on the sample.
func (e Poisson) Inner() Event { return e.Event }

// Inner is what was run on the sample.
func (e WithoutReplacement) Inner() Event { return e.Event }

// Inner is what was run on the sample.
func (e WithReplacement) Inner() Event { return e.Event }

// Inner is what was run on the sample.
func (e Multistage) Inner() Event { return e.Event }

// With returns the same draw with another inner event.
func (e Poisson) With(inner Event) Event { e.Event = inner; return e }

// With returns the same draw with another inner event.
func (e WithoutReplacement) With(inner Event) Event { e.Event = inner; return e }

// With returns the same draw with another inner event.
func (e WithReplacement) With(inner Event) Event { e.Event = inner; return e }

// With returns the same draw with another inner event.
func (e Multistage) With(inner Event) Event { e.Event = inner; return e }
