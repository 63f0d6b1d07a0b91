package oracles

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"

	"github.com/dprelease/dprelease/privacy"
)

//go:embed oracles.json.gz
var packed []byte

// Row is one published or high-precision figure.
type Row struct {
	ID, Table, Bound string
	Inputs           struct {
		Mechanism, Quantity, Relation           string
		Q, Sigma, Delta, Eps, B, A, Gamma, P    float64
		Eps0, Sensitivity                       float64
		Steps, N, SampleSize, DatasetSize, Mean int64
		K                                       int
		Parts                                   []Part
	}
	Expected, Lower, Upper *float64
	TolRel                 float64 `json:"tol_rel"`
	TolAbs                 float64 `json:"tol_abs"`
	// Rivals are the ε that other tools charge, by name.
	Rivals map[string]float64
}

// Part is one mechanism of a composition.
type Part struct {
	Kind        string
	B, Q, Sigma float64
	Count       int64
}

// Rows returns the table.
func Rows() ([]Row, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	var rows []Row
	if err := json.NewDecoder(z).Decode(&rows); err != nil {
		return nil, err
	}
	if len(rows) < 500 {
		return nil, fmt.Errorf("oracles: only %d rows", len(rows))
	}
	return rows, nil
}

// Event returns the expression of a row; it is nil for rows that ask for no ε. Tables: t2b and
// t2c Poisson-sampled Gaussian, t3b Poisson-sampled pure mechanisms, t4b Gaussian without
// replacement, t6 compositions, t7 shuffled messages of any randomizer, t7b of k-ary response.
func (r Row) Event() (privacy.Event, privacy.Relation) {
	in := r.Inputs
	one := privacy.Sensitivity{AddRemove: 1, ReplaceOne: 1}
	repeat := func(e privacy.Event) privacy.Event {
		if in.Steps <= 1 {
			return e
		}
		return privacy.Repeat{N: in.Steps, Event: e}
	}
	switch r.Table {
	case "t2b":
		return repeat(privacy.Poisson{Rate: in.Q, Event: privacy.Gaussian{Sigma: in.Sigma}}), privacy.AddRemove
	case "t2c":
		return repeat(privacy.Poisson{Rate: in.Q, Event: privacy.Gaussian{Sigma: in.Sigma}}), privacy.ReplaceOne
	case "t3b":
		if in.Mechanism == "laplace" {
			return repeat(privacy.Poisson{Rate: in.Gamma, Event: privacy.Laplace{Scale: in.B}}), privacy.AddRemove
		}
		return repeat(privacy.Poisson{Rate: in.Gamma, Event: privacy.Pure{Eps: math.Log(in.P/(1-in.P)) * (1 + 1e-15)}}), privacy.AddRemove
	case "t4b":
		return repeat(privacy.WithoutReplacement{Take: int64(math.Round(in.Q * 1e6)), Of: 1e6,
			Event: privacy.Gaussian{Sigma: in.Sigma, Sensitivity: one}}), privacy.ReplaceOne
	case "t6":
		if in.Mechanism == "k_randomized_response" {
			return repeat(privacy.RandomizedResponse{K: in.K, Eps0: in.Eps0}), privacy.ReplaceOne
		}
		var events []privacy.Event
		for _, p := range in.Parts {
			var e privacy.Event = privacy.Laplace{Scale: p.B}
			if p.Kind == "gaussian" {
				e = privacy.Gaussian{Sigma: p.Sigma}
			}
			if p.Q != 0 && p.Q < 1 {
				e = privacy.Poisson{Rate: p.Q, Event: e}
			}
			events = append(events, privacy.Repeat{N: max(1, p.Count), Event: e})
		}
		return privacy.Compose{Events: events}, privacy.AddRemove
	case "t7":
		return privacy.Shuffled{N: in.N, Event: privacy.Pure{Eps: in.Eps0}}, privacy.ReplaceOne
	case "t7b":
		return privacy.Shuffled{N: in.N, Event: privacy.RandomizedResponse{K: in.K, Eps0: in.Eps0}}, privacy.ReplaceOne
	}
	return nil, 0
}

// Known returns what no sound accountant may undercut, by the table; 0 where it holds no such
// number.
func (r Row) Known() float64 {
	known := 0.0
	if r.Lower != nil {
		known = *r.Lower
	}
	if r.Expected != nil && (r.Bound == "exact" || len(r.Bound) > 5 && r.Bound[:5] == "lower") {
		known = math.Max(known, *r.Expected)
	}
	return known
}

// Best returns the smallest ε of another tool and its name; the name is empty where none was
// recorded.
func (r Row) Best() (float64, string) {
	best, name := math.Inf(1), ""
	for n, x := range r.Rivals {
		if x < best || x == best && n < name {
			best, name = x, n
		}
	}
	return best, name
}
