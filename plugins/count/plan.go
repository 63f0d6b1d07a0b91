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
	return l, l.addNoise(req)
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
	largest := l.maxWeight
	if l.Sum != "" {
		largest *= math.Max(math.Abs(l.sum.Lower), math.Abs(l.sum.Upper))
	}
	g := math.Exp2(math.Floor(math.Log2(largest/epsilon)) - math.Log2(noiseSteps))
	for largest/g > 1<<42 {
		g *= 2
	}
	l.granularity = g
}

// value is the lattice value of one record; division by a power of two is exact.
func (l *layout) value(y, weight float64) int64 {
	return int64(math.RoundToEven(y * weight / l.granularity))
}

// extremes are the lattice values between which every record lies.
func (l *layout) extremes() (low, high int64) {
	if l.Sum == "" {
		return 0, l.value(1, l.maxWeight)
	}
	return min(0, l.value(l.sum.Lower, l.maxWeight)), max(0, l.value(l.sum.Upper, l.maxWeight))
}

func (l *layout) addNoise(req sdk.PlanRequest) error {
	low, high := l.extremes()
	most := float64(max(-low, high))
	span := float64(high - low) // a record that stays in its cell
	under := req.Public.SampleRelations
	if l.Noise == "laplace" {
		// A record in another cell moves two cells (P11). Where groups cannot change
		// it stays in its own.
		s := privacy.Sensitivity{AddRemove: most, ReplaceOne: span}
		if len(l.groups) > 0 && l.moves() {
			s.ReplaceOne = 2 * most
		}
		scale, err := sdk.LaplaceScale(sdk.Largest(s, under), req.Target.Epsilon)
		l.event, l.sd, l.tail = privacy.DiscreteLaplace{Scale: scale, Sensitivity: s}, laplaceSD(scale), scale*math.Log(20)
		return err
	}
	s := privacy.Sensitivity{AddRemove: most, ReplaceOne: span}
	coordinates := int64(1)
	if len(l.groups) > 0 && l.moves() {
		s.ReplaceOne = math.Max(span, math.Nextafter(math.Sqrt2*most, math.Inf(1)))
		coordinates = 2
	}
	event := func(x float64) privacy.DiscreteGaussian {
		sigma := math.Ceil(x*sdk.Largest(s, under)*1024) / 1024
		return privacy.DiscreteGaussian{Sigma: sigma, Sensitivity: s, Coordinates: coordinates}
	}
	x, err := sdk.GaussianMultiplier(func(x float64) privacy.Event { return event(x) }, under, req.Target)
	if err != nil {
		return fmt.Errorf("noise: %w", err)
	}
	ev := event(x)
	l.event, l.sd, l.tail = ev, ev.Sigma, 1.959963984540054*ev.Sigma
	return nil
}

// laplaceSD is the standard deviation of discrete Laplace noise.
func laplaceSD(scale float64) float64 {
	return math.Sqrt2 * math.Exp(-0.5/scale) / -math.Expm1(-1/scale)
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
	return []sdk.ExpectedError{{Field: "estimate", NoiseSD: l.unit() * l.sd, Half95: l.unit() * l.tail, Note: "each cell"}}
}
