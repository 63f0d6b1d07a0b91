// Package rdp bounds privacy loss by Rényi differential privacy: curves of the mechanisms the project knows, composition,
// amplification by sampling, and conversion to (epsilon, delta) (rule P6 and the conversion of P10).
//
// A [Curve] is an upper bound on the Rényi divergence of order alpha between the outputs on two neighbouring data sets, in both
// directions, for ONE fixed neighbouring relation. The package has no notion of the relation: the caller passes noise relative
// to the sensitivity under the relation at hand and picks the sampling rule that is valid for it.
//
//	step := rdp.PoissonGaussian(0.01, 1.0)             // add-remove, sampling rate 1 %, sigma/sensitivity 1
//	eps, order := rdp.Epsilon(rdp.Repeat(1000, step), 1e-6)
//
// # What it may import
//
// The standard library, gonum and amplify, for pure amplification. It does not import the privacy package, which imports it.
//
// # What it promises
//
// Every curve is never NaN, never negative and never below the true divergence: sums and integrals are arranged so that they do not
// cancel, and every result that went through floating-point work is moved outward by a relative 1e-11, far above the rounding
// error left (P17, P18). A parameter for which no bound exists (a non-positive scale, a rate outside [0, 1], NaN, an order that is
// not above 1) gives +Inf, which is the sound answer, and never an error or a panic. Every curve may be used from several
// goroutines.
//
// # What it does not protect against
//
// A wrong sensitivity, a sampler that does not draw what the rule assumes, or a rule used under the other relation. Curves describe
// mechanisms in exact arithmetic; the arithmetic of the noise itself is the business of the sampler that draws it. Rényi accounting
// is not tight: the privacy-loss distribution of the same event is usually some per cent better.
package rdp
