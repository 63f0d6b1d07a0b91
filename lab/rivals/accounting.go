package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/dprelease/dprelease/privacy"
)

// event is a part of a question: noise on a sum that one unit moves by 1, perhaps on a sample, so many times.
type event struct {
	Noise string  `json:"noise"`
	Sigma float64 `json:"sigma"`
	Draw  string  `json:"draw,omitempty"`
	Rate  float64 `json:"rate,omitempty"`
	Times int64   `json:"times"`
}

// question is an expression, and the chance δ at which its ε is asked.
type question struct {
	title    string
	Relation string  `json:"relation"`
	Delta    float64 `json:"delta"`
	Events   []event `json:"events"`
}

const (
	changed    = "replace-one"
	withoutRep = "without replacement"
)

var questions = []question{
	{"Gaussian σ = 1", "add-remove", 1e-6, []event{{"gaussian", 1, "", 0, 1}}},
	{"Laplace b = 1, ten times", "add-remove", 1e-6, []event{{"laplace", 1, "", 0, 10}}},
	{"10 × Laplace b = 1 and 5 × Gaussian σ = 2", "add-remove", 1e-6, []event{{"laplace", 1, "", 0, 10}, {"gaussian", 2, "", 0, 5}}},
	{"Poisson 1 %, Gaussian σ = 1, 1,000 steps", "add-remove", 1e-6, []event{{"gaussian", 1, "poisson", 0.01, 1000}}},
	{"Poisson 0.1 %, Gaussian σ = 1, 10⁵ steps", "add-remove", 1e-6, []event{{"gaussian", 1, "poisson", 0.001, 100_000}}},
	{"Poisson 10 %, Laplace b = 1, 100 steps", "add-remove", 1e-6, []event{{"laplace", 1, "poisson", 0.1, 100}}},
	{"Poisson 1 %, replaced, Gaussian σ = 2, 1,000 steps", changed, 1e-6, []event{{"gaussian", 2, "poisson", 0.01, 1000}}},
	{"1 % without replacement, Gaussian σ = 4, 1,000 steps", changed, 1e-6, []event{{"gaussian", 4, withoutRep, 0.01, 1000}}},
	{"10 % without replacement, Laplace b = 1, once", changed, 1e-6, []event{{"laplace", 1, withoutRep, 0.1, 1}}},
	{"One wave in 12, Gaussian σ = 2", "add-remove", 1e-5, []event{{"gaussian", 2, "rotation", 1. / 12, 1}}},
	{"One wave in 52, Gaussian σ = 1.5", "add-remove", 1e-5, []event{{"gaussian", 1.5, "rotation", 1. / 52, 1}}},
	{"60 unlike Poisson samples, Gaussian noise", "add-remove", 1e-6, unlike(60)},
}

// unlike are events no two of which are alike.
func unlike(n int) (out []event) {
	for i := range n {
		out = append(out, event{"gaussian", 0.8 + 0.03*float64(i), "poisson", 0.005 + 0.0007*float64((i*37)%60), 1})
	}
	return out
}

// event is the question in the program's own words.
func (q question) event() privacy.Event {
	var all []privacy.Event
	for _, e := range q.Events {
		far := privacy.Sensitivity{AddRemove: 1, ReplaceOne: 1}
		if e.Draw == "poisson" { // a replaced unit leaves one value and brings another
			far.ReplaceOne = 2
		}
		var inner privacy.Event = privacy.Gaussian{Sigma: e.Sigma, Sensitivity: far}
		if e.Noise == "laplace" {
			inner = privacy.Laplace{Scale: e.Sigma, Sensitivity: far}
		}
		switch e.Draw {
		case "poisson":
			inner = privacy.Poisson{Rate: e.Rate, Event: inner}
		case withoutRep:
			inner = privacy.WithoutReplacement{Take: int64(e.Rate * 1e6), Of: 1e6, Event: inner}
		case "rotation":
			inner = privacy.Rotation{Waves: int64(1/e.Rate + 0.5), In: 1, Event: inner}
		}
		if e.Times > 1 {
			inner = privacy.Repeat{N: e.Times, Event: inner}
		}
		all = append(all, inner)
	}
	if len(all) == 1 {
		return all[0]
	}
	return privacy.Compose{Events: all}
}

// charge holds the answer of an accountant.
type charge struct {
	Epsilon float64
	Cannot  string
	Seconds float64
}

func (c charge) String() string {
	if c.Cannot != "" {
		return "–"
	}
	return fmt.Sprintf("%.4g (%.2g)", c.Epsilon, c.Seconds)
}

// patience is the longest wait for an accountant.
const patience = 5 * time.Minute

// charges asks all accountants one question.
func (q question) charges(ctx context.Context, environments string) (map[string]charge, float64, error) {
	rel, err := privacy.ParseRelation(q.Relation)
	if err != nil {
		return nil, 0, err
	}
	began := time.Now()
	a, err := privacy.EpsilonWith(q.event(), rel, q.Delta, privacy.Options{Quick: true})
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", q.title, err)
	}
	out := map[string]charge{"dprelease": {Epsilon: a.Epsilon, Seconds: time.Since(began).Seconds()}}
	text, err := json.Marshal(q)
	if err != nil {
		return nil, 0, err
	}
	for _, t := range tools {
		if t.script != "accounting_tasks.py" {
			continue
		}
		python, err := t.python(ctx, environments)
		if err != nil {
			out[t.name] = charge{Cannot: err.Error()}
			continue
		}
		soon, cancel := context.WithTimeout(ctx, patience)
		said, _, err := timed(soon, python, filepath.Join(environments, "scripts", t.script), string(text), t.name)
		late := soon.Err() != nil && ctx.Err() == nil
		cancel()
		if late {
			out[t.name] = charge{Cannot: q.title + ": no answer in " + patience.String()}
			continue
		}
		if err != nil {
			out[t.name] = charge{Cannot: err.Error()}
			continue
		}
		var answers map[string]charge
		if err := json.Unmarshal(said, &answers); err != nil {
			return nil, 0, err
		}
		for name, c := range answers {
			out[name] = c
		}
	}
	return out, a.Lower, nil
}
