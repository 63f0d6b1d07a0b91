package mean

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// Version is the version of the mechanism; it changes when a release of the
// same job would.
const Version = "1.0.0"

// Mechanism is the mean. Its zero value is ready for use.
type Mechanism struct{}

// Describe says what the mechanism is.
func (Mechanism) Describe() sdk.Description {
	return sdk.Description{
		Name:      "mean",
		Version:   Version,
		Summary:   "mean of numeric columns, of the whole table or by group",
		Params:    json.RawMessage(schema),
		Relations: []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne},
		Designs:   []string{"full", "poisson", "srswor", "multistage", "stratified", "collected"},
		Grouped:   true,
	}
}

// Plan chooses the estimator, the lattice and the noise. It sees no data.
func (Mechanism) Plan(req sdk.PlanRequest) (sdk.Plan, error) {
	l, err := newLayout(req)
	if err != nil {
		return sdk.Plan{}, err
	}
	if l.params.Noise == "gaussian" {
		if err := l.calibrateGaussian(req); err != nil {
			return sdk.Plan{}, err
		}
	}
	plan := sdk.Plan{Columns: l.names(), Event: l.event(), Output: l.output(), Rows: l.rows(), Errors: l.expected()}
	return plan, nil
}

// layout is everything that a release needs to know. It follows from public facts alone,
// so Release derives it again. Only the size of gaussian noise comes from the plan, because
// it takes a calibration.
type layout struct {
	params  params
	public  sdk.Public
	queries []query
	group   sdk.Column
	divisor float64 // the public constant T; 0 for the ratio
	noise   []noiseScale
}

func newLayout(req sdk.PlanRequest) (*layout, error) {
	p, err := parseParams(req.Params)
	if err != nil {
		return nil, err
	}
	columns, group, err := p.resolve(req.Public)
	if err != nil {
		return nil, err
	}
	l := &layout{params: p, public: req.Public, group: group}
	weight := 1.0
	if !req.Public.Design.EqualWeights {
		weight = req.Public.Design.MaxWeight
		if !(weight >= 1) || math.IsInf(weight, 0) {
			return nil, fmt.Errorf("the design's largest weight is not known")
		}
	}
	l.divisor = divisor(req.Public)
	if p.By != "" {
		l.divisor = 0
	}
	for _, c := range columns {
		if c.Missing == sdk.MissingDrop {
			l.divisor = 0 // how many values are left is secret
		}
	}
	share := privacy.Point{
		Epsilon: req.Target.Epsilon / float64(len(columns)),
		Delta:   req.Target.Delta / float64(len(columns)),
	}
	if !(share.Epsilon > 0) {
		return nil, fmt.Errorf("guarantee: epsilon must be positive")
	}
	for _, c := range columns {
		ratio := l.divisor == 0
		width := weight * (c.Upper - c.Lower)
		if ratio {
			width *= 2
		}
		if math.IsInf(width, 0) {
			return nil, fmt.Errorf("column: the bounds of %q are too far apart", c.Name)
		}
		q := newQuery(c, ratio, weight, width/share.Epsilon)
		l.queries = append(l.queries, q)
	}
	if p.Noise == "gaussian" {
		return l, nil // calibrated by Plan, planned in Release
	}
	for _, q := range l.queries {
		n, err := laplace(q, req.Public.SampleRelations, share.Epsilon)
		if err != nil {
			return nil, err
		}
		l.noise = append(l.noise, n)
	}
	return l, nil
}

// divisor returns the public constant that turns the sum into a mean, or 0 where
// there is none (P12: never the realised size of the sample).
func divisor(pub sdk.Public) float64 {
	d := pub.Design
	switch {
	case !d.EqualWeights:
		return float64(pub.Population) // Σ w(y−c)/N
	case d.SampleSize > 0:
		return float64(d.SampleSize)
	case d.Rate > 0 && pub.Population > 0:
		return d.Rate * float64(pub.Population)
	}
	return 0
}

// noiseScale is the noise of one query in lattice steps.
type noiseScale struct {
	event privacy.Event
	sd    float64
	tail  float64 // |noise| of one coordinate exceeds it with probability tailProb
}

func laplace(q query, under []privacy.Relation, epsilon float64) (noiseScale, error) {
	s := privacy.Sensitivity{AddRemove: float64(q.addRemove()), ReplaceOne: float64(q.replaceOne())}
	scale, err := sdk.LaplaceScale(sdk.Largest(s, under), epsilon)
	return noiseScale{
		event: privacy.DiscreteLaplace{Scale: scale, Sensitivity: s},
		sd:    math.Sqrt2 * scale,
		tail:  scale * math.Log(1/q.tailProb()),
	}, err
}

// tailProb splits 5 % over the coordinates that an interval depends on.
func (q query) tailProb() float64 {
	if q.ratio {
		return 0.025
	}
	return 0.05
}

func (l *layout) event() privacy.Event {
	if len(l.noise) == 1 {
		return l.noise[0].event
	}
	all := make([]privacy.Event, len(l.noise))
	for i, n := range l.noise {
		all[i] = n.event
	}
	return privacy.Compose{Events: all}
}

// names are the columns that Release reads, the group last.
func (l *layout) names() []string {
	var names []string
	for _, q := range l.queries {
		names = append(names, q.column.Name)
	}
	if l.params.By != "" {
		names = append(names, l.params.By)
	}
	return names
}

func (l *layout) groups() int {
	if l.params.By == "" {
		return 1
	}
	return len(l.group.Domain)
}

func (l *layout) rows() int64 { return int64(l.groups()) * int64(len(l.queries)) }
