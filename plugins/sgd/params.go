package sgd

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// schema is the JSON Schema of the parameters.
const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "required": ["model", "target", "features"],
  "properties": {
    "model":    {"enum": ["linear", "logistic"], "description": "least squares, or the log-odds of a yes"},
    "target":   {"type": "string",
                 "description": "what is explained: a number with bounds (linear); a number with bounds 0 and 1, ` +
	`or a category of two values (logistic)"},
    "positive": {"type": "string", "description": "the value of a category target that is a yes; the second of its domain by default"},
    "features": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 1000, "uniqueItems": true,
                 "description": "what explains it: numbers with bounds, and categories with a domain, whose first value is the reference"},
    "log":      {"type": "array", "items": {"type": "string"}, "uniqueItems": true,
                 "description": "columns of which the natural logarithm is used, after clipping; their lower bound must be positive"},
    "epochs":   {"type": "number", "exclusiveMinimum": 0, "maximum": 100000,
                 "description": "how often each record is used, on average; 40 where the job gives a batch size or rate. ` +
	`A job that says nothing of steps gets as many full-batch steps as it needs"},
    "steps":    {"type": "integer", "minimum": 1, "maximum": 100000, "description": "the number of steps, instead of epochs"},
    "rate":     {"type": "number", "exclusiveMinimum": 0, "maximum": 1,
                 "description": "the probability with which a record is in the batch of a step; 1 takes all. ` +
	`0.1 where the job gives epochs or steps"},
    "batch_size": {"type": "number", "exclusiveMinimum": 0, "description": "the expected size of a batch, instead of rate"},
    "rows":     {"type": "integer", "minimum": 1,
                 "description": "where the number of records is secret: a public guess of it, which scales the steps"},
    "clip":     {"type": "number", "minimum": 1e-9, "maximum": 1000,
                 "description": "the norm to which the gradient of one record is clipped, in scaled units; 1 for logistic, ` +
	`0.5 for linear by default"},
    "step_size": {"type": "number", "exclusiveMinimum": 0, "maximum": 1000000,
                  "description": "in scaled units, and then without momentum; by default step size and momentum are chosen from the ` +
	`curvature of the loss and the noise"},
    "l2":       {"type": "number", "minimum": 0, "maximum": 1000, "default": 0,
                 "description": "weight of half the squared norm of the scaled coefficients, without the intercept"},
    "batches":  {"enum": ["poisson", "full", "cyclic", "one-pass"],
                 "description": "poisson: each step draws its own. full: all records in every step. cyclic: ` +
	`the records are put into batches once, at random, and taken in turn. one-pass: the same, each once. The last two are for ` +
	`last-iterate"},
    "accounting": {"enum": ["steps", "last-iterate"],
                   "description": "steps: every step is paid for. last-iterate: only the last iterate is paid for; needs replace-one, ` +
	`a radius, and batches that are not drawn afresh. By default what the batches allow"},
    "early_noise": {"type": "number", "minimum": 0.001, "maximum": 1, "default": 1,
                    "description": "one-pass only: the noise of every step but the last, as a share of that of the last"},
    "radius":   {"type": "number", "exclusiveMinimum": 0, "maximum": 1000000,
                 "description": "of the ball that the scaled coefficients are confined to; for last-iterate"},
    "average":  {"type": "boolean", "default": true, "description": "release the mean of the second half of the steps instead of the last"}
  },
  "allOf": [{"not": {"required": ["epochs", "steps"]}}, {"not": {"required": ["rate", "batch_size"]}}]
}`

// last reports whether only the last iterate is paid for.
func (p params) last() bool { return p.Accounting == lastIterate }

// lastIterate is the accounting of P9.
const lastIterate = "last-iterate"

// Limits of what a job may ask for.
const (
	maxSteps    = 100_000
	maxFeatures = 1000
	maxWidth    = 10_000 // coordinates, the one-hot ones included

	// minClip keeps the number of units in a residual finite. With an infinite number a
	// residual of 0 would become NaN, which passes every limit.
	minClip = 1e-9
)

type params struct {
	Model     string   `json:"model"`
	Target    string   `json:"target"`
	Positive  *string  `json:"positive"`
	Features  []string `json:"features"`
	Log       []string `json:"log"`
	Epochs    *float64 `json:"epochs"`
	Steps     *int64   `json:"steps"`
	Rate      *float64 `json:"rate"`
	BatchSize *float64 `json:"batch_size"`
	Rows      *int64   `json:"rows"`
	Clip      *float64 `json:"clip"`
	StepSize  *float64 `json:"step_size"`
	L2        float64  `json:"l2"`
	Average   *bool    `json:"average"`

	Accounting string   `json:"accounting"`
	Batches    string   `json:"batches"`
	EarlyNoise *float64 `json:"early_noise"`
	Radius     *float64 `json:"radius"`

	open bool // the job leaves the number of steps and their batches to the mechanism
}

func parseParams(raw json.RawMessage) (params, error) {
	var p params
	if err := sdk.DecodeParams(raw, &p); err != nil {
		return p, err
	}
	if p.Model != "linear" && p.Model != "logistic" {
		return p, fmt.Errorf("model: must be linear or logistic")
	}
	if len(p.Features) == 0 || len(p.Features) > maxFeatures {
		return p, fmt.Errorf("features: name between 1 and %d columns", maxFeatures)
	}
	switch {
	case p.Epochs != nil && p.Steps != nil:
		return p, fmt.Errorf("epochs, steps: give one of them")
	case p.Rate != nil && p.BatchSize != nil:
		return p, fmt.Errorf("rate, batch_size: give one of them")
	case p.Positive != nil && p.Model != "logistic":
		return p, fmt.Errorf("positive: is for a logistic model")
	}
	p.open = p.Epochs == nil && p.Steps == nil && p.Rate == nil && p.BatchSize == nil && (p.Batches == "" || p.Batches == fullBatches)
	if err := p.chooseBatches(); err != nil {
		return p, err
	}
	p.open = p.open && !p.last()
	if p.Radius != nil && !p.last() {
		return p, fmt.Errorf("radius: is for accounting: last-iterate")
	}
	return p, p.checkNumbers()
}

func (p params) checkNumbers() error {
	for _, x := range []struct {
		name  string
		value *float64
		most  float64
	}{{"epochs", p.Epochs, 1e5}, {"rate", p.Rate, 1}, {"batch_size", p.BatchSize, 1e15}, {"clip", p.Clip, 1000},
		{"step_size", p.StepSize, 1e6}, {"radius", p.Radius, 1e6}, {"early_noise", p.EarlyNoise, 1}} {
		if v := x.value; v != nil && !(*v > 0 && *v <= x.most) {
			return fmt.Errorf("%s: must be positive and at most %g", x.name, x.most)
		}
	}
	if c := p.Clip; c != nil && *c < minClip {
		return fmt.Errorf("clip: must be at least %g", minClip)
	}
	if e := p.EarlyNoise; e != nil && *e < 0.001 {
		return fmt.Errorf("early_noise: must be at least 0.001")
	}
	if !(p.L2 >= 0 && p.L2 <= 1000) {
		return fmt.Errorf("l2: must be between 0 and 1000")
	}
	if s := p.Steps; s != nil && (*s < 1 || *s > maxSteps) {
		return fmt.Errorf("steps: must be between 1 and %d", maxSteps)
	}
	return nil
}

// schedule assigns the records to the steps. All of it is public.
type schedule struct {
	rows  float64 // the public number of records, or the public guess of it
	rate  float64
	steps int64

	batch, epochs int64 // for batches in turn, else 0
}

// expected is the expected size of a batch, the divisor of every step (P14).
func (s schedule) expected() float64 { return s.rate * s.rows }

func (p params) schedule(pub sdk.Public) (schedule, error) {
	s := schedule{rows: float64(pub.Population), rate: 0.1}
	switch {
	case pub.Population > 0 && p.Rows != nil:
		return s, fmt.Errorf("rows: is for tables whose number of records is secret; here it is public")
	case pub.Population == 0 && p.Rows == nil:
		return s, fmt.Errorf("rows: the number of records is secret; give a public guess of it, which only scales the steps")
	case pub.Population == 0 && *p.Rows < 1:
		return s, fmt.Errorf("rows: must be at least 1")
	case pub.Population == 0:
		s.rows = float64(*p.Rows)
	}
	if p.inTurn() {
		return p.turns(s)
	}
	switch {
	case p.Rate != nil:
		s.rate = *p.Rate
	case p.BatchSize != nil && *p.BatchSize > s.rows:
		return s, fmt.Errorf("batch_size: must be at most the number of records, %.0f", s.rows)
	case p.BatchSize != nil:
		s.rate = *p.BatchSize / s.rows
	}
	if s.rate < 0x1p-40 {
		return s, fmt.Errorf("rate: is too small to be drawn")
	}
	epochs := 40.0
	if p.Epochs != nil {
		epochs = *p.Epochs
	}
	steps := math.Max(1, math.Round(epochs/s.rate))
	if p.Steps != nil {
		steps = float64(*p.Steps)
	}
	if steps > maxSteps {
		return s, fmt.Errorf("epochs: make %.0f steps at rate %g; at most %d are possible", steps, s.rate, maxSteps)
	}
	s.steps = int64(steps)
	return s, nil
}

// The ways in which steps take records.
const (
	poissonBatches = "poisson"
	fullBatches    = "full"
	cyclicBatches  = "cyclic"
	onePass        = "one-pass"
)

// inTurn reports whether the host puts records into batches once and steps take these
// in turn.
func (p params) inTurn() bool { return p.Batches == cyclicBatches || p.Batches == onePass }

// chooseBatches fills in how steps take records and how steps are paid for, where one
// follows from the other.
func (p *params) chooseBatches() error {
	switch p.Accounting {
	case "", "steps", lastIterate:
	default:
		return fmt.Errorf("accounting: must be steps or last-iterate")
	}
	switch p.Batches {
	case "":
		p.Batches = poissonBatches
		if p.last() {
			p.Batches = fullBatches
		}
	case poissonBatches:
		if p.last() {
			return fmt.Errorf("batches: poisson: the bound of last-iterate is about batches that are not drawn afresh; " +
				"use full, cyclic or one-pass, or accounting: steps")
		}
	case fullBatches:
	case cyclicBatches, onePass:
		if p.Accounting == "steps" {
			return fmt.Errorf("batches: %s: is paid for as a last iterate; leave accounting out, or use poisson batches", p.Batches)
		}
		p.Accounting = lastIterate
	default:
		return fmt.Errorf("batches: must be poisson, full, cyclic or one-pass")
	}
	if p.EarlyNoise != nil && p.Batches != onePass {
		return fmt.Errorf("early_noise: less noise in early steps has a bound for batches: one-pass only")
	}
	if p.Batches == fullBatches && p.Rate == nil && p.BatchSize == nil {
		one := 1.0
		p.Rate = &one
	}
	return nil
}

// early is the noise of every step before the last, as a share of the noise of the
// last. It returns 0 where all steps have the same noise.
func (p params) early() float64 {
	if p.EarlyNoise == nil || *p.EarlyNoise == 1 {
		return 0
	}
	return *p.EarlyNoise
}

// turns is the schedule for batches in turn. Each batch holds the same number of
// records, except the last of a pass, which may hold fewer. Every sum is divided by
// that number.
func (p params) turns(s schedule) (schedule, error) {
	rate, epochs := 0.1, 40.0
	if p.Batches == onePass {
		rate, epochs = 0.01, 1
	}
	if p.Rate != nil {
		rate = *p.Rate
	}
	size := math.Ceil(rate * s.rows)
	if p.BatchSize != nil {
		size = *p.BatchSize
	}
	if p.Epochs != nil {
		epochs = *p.Epochs
	}
	switch {
	case size != math.Trunc(size) || size < 1 || size > s.rows:
		return s, fmt.Errorf("batch_size: must be a whole number of records, at most %.0f", s.rows)
	case p.Steps != nil:
		return s, fmt.Errorf("steps: follow from epochs and batch_size where batches are taken in turn; leave steps out")
	case p.Batches == onePass && epochs != 1:
		return s, fmt.Errorf("epochs: one pass is one epoch; leave epochs out, or use batches: cyclic")
	case epochs != math.Trunc(epochs) || epochs < 1:
		return s, fmt.Errorf("epochs: must be a whole number where batches are taken in turn")
	}
	s.batch, s.epochs, s.rate = int64(size), int64(epochs), size/s.rows
	steps := math.Ceil(s.rows/size) * epochs
	if steps > maxSteps {
		return s, fmt.Errorf("epochs: make %.0f steps of %.0f records; at most %d are possible", steps, size, maxSteps)
	}
	s.steps = int64(steps)
	return s, nil
}
