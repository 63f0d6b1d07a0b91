package account

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/describe"
	"github.com/dprelease/dprelease/privacy/expr"
)

// amount is a number that is null in JSON where it is not finite.
type amount float64

// MarshalJSON writes the shortest number that reads back the same.
func (x amount) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(x))
}

// answer is the object of --json; specs/account-v1.md says what each field is.
type answer struct {
	Relation    privacy.Relation      `json:"relation"`
	Epsilon     amount                `json:"epsilon"`
	Delta       amount                `json:"delta"`
	Lower       amount                `json:"lower"`
	Upper       amount                `json:"upper"`
	Method      *string               `json:"method"`
	Methods     map[string]amount     `json:"methods"`
	Unsupported []privacy.Unsupported `json:"unsupported"`
	Claimed     []privacy.Claim       `json:"claimed"`
	Calibrated  *calibrated           `json:"calibrated,omitempty"`
	Warnings    []string              `json:"warnings,omitempty"`
	Reason      string                `json:"reason,omitempty"`

	query *expr.Query
	event privacy.Event // with the calibrated value in it
}

type calibrated struct {
	Parameter string `json:"parameter"`
	Value     amount `json:"value"`
}

// errBug marks failures that are never the caller's fault.
var errBug = errors.New("internal error")

// answerQuery evaluates one question. A panic of the calculus costs this
// question and no other.
func answerQuery(q *expr.Query) (a *answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			a, err = nil, fmt.Errorf("%w: the expression %s cannot be evaluated: %v", errBug, describe.Event(q.Event), p)
		}
	}()
	a = &answer{query: q, event: q.Event}
	var got privacy.Answer
	switch q.Given {
	case expr.GivenDelta:
		got, err = privacy.EpsilonWith(q.Event, q.Relation, q.Delta, privacy.Options{Methods: q.Methods})
	case expr.GivenEpsilon:
		got, err = privacy.DeltaWith(q.Event, q.Relation, q.Epsilon, privacy.Options{Methods: q.Methods})
	case expr.GivenTarget:
		got, err = a.calibrate()
	default:
		return nil, errBug
	}
	if err != nil && !errors.Is(err, privacy.ErrUnbounded) {
		return nil, located(q, err)
	}
	a.fill(got)
	return a, nil
}

// located puts the place of the sub-expression in front of an error.
func located(q *expr.Query, err error) error {
	var wrong *privacy.Error
	if !errors.As(err, &wrong) {
		return err
	}
	pos, _ := q.Pos(wrong.Path)
	return expr.Problems{{Pos: pos, Path: wrong.Path, Message: wrong.Message}}
}

func (a *answer) asksDelta() bool { return a.query.Given == expr.GivenEpsilon }

// fill copies the answer of package privacy.
func (a *answer) fill(got privacy.Answer) {
	a.Relation = got.Relation
	a.Epsilon, a.Delta = amount(got.Epsilon), amount(got.Delta)
	a.Lower, a.Upper = amount(got.Lower), amount(got.Upper)
	a.Methods = make(map[string]amount, len(got.Methods))
	for name, b := range got.Methods {
		if a.asksDelta() {
			a.Methods[name] = amount(b.Delta)
		} else {
			a.Methods[name] = amount(b.Epsilon)
		}
	}
	a.Unsupported = append([]privacy.Unsupported{}, got.Unsupported...) // [] in JSON where there is none
	a.Claimed = append([]privacy.Claim{}, got.Claimed...)
	a.Warnings = got.Warnings
	if got.Method != "" {
		a.Method = &got.Method
		return
	}
	a.Reason = "no method certifies a finite epsilon at this delta"
	if a.asksDelta() {
		a.Reason = "no method certifies anything at this epsilon"
	}
}

func (a *answer) writeJSON(w io.Writer) error {
	line, err := a.line()
	if err != nil {
		return err
	}
	_, err = w.Write(line)
	return err
}

// line is the answer as one line of JSON.
func (a *answer) line() ([]byte, error) {
	b, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}
