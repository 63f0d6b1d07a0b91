package count

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// Version is the version of the mechanism; it changes when a release of the same
// job would.
const Version = "1.0.0"

// Mechanism is the table of counts or sums. Its zero value is ready for use.
type Mechanism struct{}

// Describe says what the mechanism is.
func (Mechanism) Describe() sdk.Description {
	return sdk.Description{
		Name:      "count",
		Version:   Version,
		Summary:   "counts or sums by groups of public domains",
		Params:    json.RawMessage(schema),
		Relations: []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne},
		Designs:   []string{"full", "poisson", "srswor", "multistage", "stratified", "collected"},
		Grouped:   true,
	}
}

// Plan chooses the lattice and the noise. It sees no data.
func (Mechanism) Plan(req sdk.PlanRequest) (sdk.Plan, error) {
	l, err := newLayout(req)
	if err != nil {
		return sdk.Plan{}, err
	}
	return sdk.Plan{Columns: l.names(), Event: l.event, Output: l.output(), Rows: int64(l.cells), Errors: l.expected()}, nil
}

// layout follows from public facts alone; Release derives it again.
type layout struct {
	*shape
	public      sdk.Public
	weight      float64 // what a noisy cell is multiplied by to stand for the population
	maxWeight   float64 // the largest weight that is applied to single records
	granularity float64
	event       privacy.Event
	sd, tail    float64 // of the noise in one cell, in lattice steps
}

func newLayout(req sdk.PlanRequest) (*layout, error) {
	l, err := newQuery(req)
	if err != nil {
		return nil, err
	}
	return l, l.addNoise(req)
}

// newQuery is the layout without its noise.
func newQuery(req sdk.PlanRequest) (*layout, error) {
	s, err := parse(req.Params, req.Public)
	if err != nil {
		return nil, err
	}
	d := req.Public.Design
	l := &layout{shape: s, public: req.Public, weight: d.MaxWeight, maxWeight: 1}
	if !d.EqualWeights {
		l.weight, l.maxWeight = 1, d.MaxWeight
	}
	if !(d.MaxWeight >= 1) || math.IsInf(d.MaxWeight, 0) {
		return nil, fmt.Errorf("a total of the population needs its public size or a poisson sample: the size is secret, so a sample of fixed size cannot be scaled up")
	}
	l.choose(req.Target.Epsilon)
	return l, nil
}

// noiseSteps is about how many lattice steps the noise spans where values are not
// whole numbers.
const noiseSteps = 1 << 20

// choose takes whole numbers as the lattice of unweighted counts, and for sums
// and weighted counts one that is a millionth of the noise.
func (l *layout) choose(epsilon float64) {
	l.granularity = 1
	if l.Sum == "" && l.maxWeight == 1 {
		return
	}
	// How far one record can move the sums, before rounding.
	low, high := 0.0, l.maxWeight
	if l.Sum != "" {
		low, high = l.maxWeight*l.sum.Lower, l.maxWeight*l.sum.Upper
	}
	most := math.Max(math.Max(-low, high), math.Max(-high, low))
	moves := most
	if len(l.public.SampleRelations) == 1 && l.public.SampleRelations[0] == privacy.ReplaceOne && l.stays() {
		moves = high - low
	}
	// Where the noise is huge, one record still spans a thousand steps.
	g := math.Exp2(math.Floor(math.Min(math.Log2(moves/epsilon)-math.Log2(noiseSteps), math.Log2(moves)-10)))
	// A table of 2^32 records, or of as many as are known to be, fits an int64.
	records := 0x1p32
	if n := l.public.Design.LargestCount; n > 0 {
		records = float64(n)
	}
	for limit := math.Min(0x1p42, 0x1p62/records); most/g > limit; {
		g *= 2
	}
	l.granularity = g
}

// stays reports whether a replaced record changes one and the same cell by the
// difference of two values of weight 1.
func (l *layout) stays() bool {
	return l.Sum != "" && l.maxWeight == 1 && !l.switches() && !l.leaves()
}

// value is the lattice value of one record; division by a power of two is exact.
func (l *layout) value(y, weight float64) int64 {
	return int64(math.RoundToEven(y * weight / l.granularity))
}

// extremes are the lattice values between which what a record adds to its cell
// lies, 0 among them.
func (l *layout) extremes() (low, high int64) {
	if l.Sum == "" {
		return 0, l.value(1, l.maxWeight)
	}
	return min(0, l.value(l.sum.Lower, l.maxWeight)), max(0, l.value(l.sum.Upper, l.maxWeight))
}

// sensitivity is how far the cells move in L1 norm (count.proof.md), and in L2
// norm with the number of cells that may change.
func (l *layout) sensitivity() (l1, l2 privacy.Sensitivity, cells int64) {
	low, high := l.extremes()
	most, span := float64(max(-low, high)), float64(high-low)
	if l.stays() {
		span = float64(max(1, l.value(l.sum.Upper, 1)-l.value(l.sum.Lower, 1)))
	}
	l1 = privacy.Sensitivity{AddRemove: most, ReplaceOne: span}
	if !l.switches() {
		return l1, l1, 1
	}
	// P11: a record that leaves one cell for another moves two.
	l2 = privacy.Sensitivity{AddRemove: most, ReplaceOne: math.Max(span, math.Nextafter(math.Sqrt2*most, math.Inf(1)))}
	l1.ReplaceOne = 2 * most
	return l1, l2, 2
}

func (l *layout) addNoise(req sdk.PlanRequest) error {
	l1, l2, cells := l.sensitivity()
	under := req.Public.SampleRelations
	if l.Noise == "laplace" {
		scale, err := sdk.LaplaceScale(sdk.Largest(l1, under), req.Target.Epsilon)
		l.event, l.sd, l.tail = privacy.DiscreteLaplace{Scale: scale, Sensitivity: l1}, laplaceSD(scale), laplaceTail(scale)
		return err
	}
	event := func(x float64) privacy.DiscreteGaussian {
		sigma := math.Ceil(x*sdk.Largest(l2, under)*1024) / 1024
		return privacy.DiscreteGaussian{Sigma: sigma, Sensitivity: l2, Coordinates: cells}
	}
	x, err := sdk.GaussianMultiplier(func(x float64) privacy.Event { return event(x) }, under, req.Target)
	if err != nil {
		return fmt.Errorf("noise: %w", err)
	}
	ev := event(x)
	l.event, l.sd, l.tail = ev, ev.Sigma, math.Ceil(1.959963984540054*ev.Sigma-0.5)
	return nil
}

// laplaceSD is the standard deviation of discrete Laplace noise.
func laplaceSD(scale float64) float64 {
	return math.Sqrt2 * math.Exp(-0.5/scale) / -math.Expm1(-1/scale)
}

// laplaceTail is the smallest whole number that discrete Laplace noise exceeds in
// magnitude with at most 5 % probability: P(|X| > t) = 2e^{−(t+1)/b}/(1 + e^{−1/b}).
func laplaceTail(scale float64) float64 {
	return math.Max(0, math.Ceil(scale*math.Log(40/(1+math.Exp(-1/scale)))-1))
}

// names are the columns that Release reads: the groups, then the summed column.
func (l *layout) names() []string {
	var all []string
	for _, g := range l.groups {
		all = append(all, g.Name)
	}
	if l.Sum != "" {
		all = append(all, l.Sum)
	}
	return all
}

func (l *layout) unit() float64 { return l.granularity * l.weight }

func (l *layout) expected() []sdk.ExpectedError {
	// Without noise a cell is weight·Σ w·z, z the part of one row in that cell: 1 or
	// 0 in a count, its value or 0 in a sum.
	linear := &sdk.Linear{Low: 0, High: 1, Scale: l.weight}
	if l.Sum != "" {
		linear.Low, linear.High = math.Min(0, l.sum.Lower), math.Max(0, l.sum.Upper)
		if len(l.groups) == 0 && l.sum.Missing != sdk.MissingDrop {
			linear.Column, linear.Low, linear.High = l.Sum, l.sum.Lower, l.sum.Upper
		}
	}
	return []sdk.ExpectedError{{Field: "estimate", NoiseSD: l.unit() * l.sd, Half95: l.unit() * l.tail, Note: "each cell", Linear: linear}}
}
