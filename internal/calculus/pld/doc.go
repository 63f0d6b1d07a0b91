// Package pld is a privacy-loss-distribution accountant with certified answers.
//
// A [Mechanism] is a lazy description of a pair of output distributions (P, Q),
// the dominating pair of a mechanism under one relation. Nothing is computed
// until [Epsilon] or [Delta] is asked; both return an [Interval] that holds the
// true value for the pair: Upper may be charged, Lower says how much of Upper is
// real.
//
//	m := pld.Repeat(10_000, pld.Poisson(0.01, pld.Gaussian(1)))
//	eps, err := pld.Epsilon(m, 1e-6, pld.Options{})
//
// # What it promises
//
//   - Both directions (P against Q, and Q against P) are discretised, composed
//     and cut apart; the larger is taken at the end (P7).
//   - Upper bounds come from the connect-the-dots discretisation, lower bounds
//     from merging outcomes (a post-processing) on the same lattice. Every tail
//     that is cut, every wrap-around of a Fourier transform and every rounding
//     error has an explicit budget, added to the upper and taken from the lower
//     bound. The proofs are in the *.proof.md files beside the code.
//   - A bound that cannot be certified is an error, never a silent zero.
//
// # What it does not protect against
//
// The package believes its caller about the pair: that the sensitivity is right,
// that the relation of the inner mechanism is the one the sampling rule asks for
// (see [Poisson] and [WithoutReplacement]), that draws which are composed are
// independent. It is no privacy filter: the plan must be fixed before data are
// seen (P10).
//
// A composition of more than a hundred different mechanisms is bounded by joining
// those that are nearly equal: by their worst for the upper bound, by their mildest
// for the lower one. The work of a query is counted and bounded, on no clock.
//
// It imports the standard library and gonum only, and of this project what groups
// numbers.
package pld
