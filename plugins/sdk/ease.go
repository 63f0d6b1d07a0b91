package sdk

import (
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

// LaplaceStep returns a lattice for a query to which Laplace noise is added: a power of
// two that fits 2^20 to 2^21 times into size/epsilon. That quotient is the scale of the
// noise where size is the sensitivity, so rounding to the lattice does not show beside
// the noise. LaplaceStep returns 0 where size or epsilon is not positive, or the lattice
// cannot be represented.
func LaplaceStep(size, epsilon float64) float64 {
	x := size / epsilon
	if !(size > 0) || !(epsilon > 0) || math.IsInf(x, 0) || x < 0x1p-1000 {
		return 0
	}
	_, e := math.Frexp(x) // 2^(e−1) ≤ x < 2^e
	return math.Ldexp(1, e-21)
}

// LaplaceError is what is known about a released value with Laplace noise of the
// given scale, in the value's own units.
func LaplaceError(field string, scale float64) ExpectedError {
	return ExpectedError{Field: field, NoiseSD: math.Sqrt2 * scale, Half95: math.Log(20) * scale}
}
