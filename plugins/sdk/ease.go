package sdk

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// Each calls read with every batch of rows, to the end of the stream or the first
// error, which it returns.
func Each(rows Rows, read func(*Batch) error) error {
	for {
		b, err := rows.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = read(b)
		}
		if err != nil {
			return err
		}
	}
}

// Column is the declared column that a parameter names.
func (r PlanRequest) Column(parameter string) (Column, error) {
	var params map[string]any
	if err := json.Unmarshal(r.Params, &params); err != nil {
		return Column{}, err
	}
	name, _ := params[parameter].(string)
	c, ok := r.Public.Column(name)
	if !ok {
		return c, fmt.Errorf("%s: %q is not a declared column", parameter, name)
	}
	return c, nil
}

// LaplaceStep returns a lattice for a query with Laplace noise: a power of two that fits 2^20 to 2^21
// times into size/epsilon. Where size is the sensitivity, that quotient is the scale of the noise, so
// rounding to the lattice is far below the noise. LaplaceStep returns 0 where size or epsilon is not
// positive, or the lattice cannot be represented.
func LaplaceStep(size, epsilon float64) float64 {
	x := size / epsilon
	if !(size > 0) || !(epsilon > 0) || math.IsInf(x, 0) || x < 0x1p-1000 {
		return 0
	}
	_, e := math.Frexp(x) // 2^(e−1) ≤ x < 2^e
	return math.Ldexp(1, e-21)
}

// LaplaceError is the expected error of a value with Laplace noise of the given scale, in the value's
// own units.
func LaplaceError(field string, scale float64) ExpectedError {
	return ExpectedError{Field: field, NoiseSD: math.Sqrt2 * scale, Half95: math.Log(20) * scale}
}
