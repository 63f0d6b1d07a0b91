// Package shuffle bounds the central privacy of n local reports behind a trusted shuffler (rule P8). Each of n users runs a randomizer
// that is eps0-differentially private on its own; only the shuffled multiset of reports is seen.
//
//	b, err := shuffle.Epsilon(100_000, 4, 1e-6) // any randomizer: b.Upper may be charged, about 0.168
//
// Two analyses are offered, both sound:
//
//   - [Epsilon], [Delta]: "Hiding among the clones" (Feldman, McMillan and Talwar 2021), evaluated numerically, for any randomizer;
//     its closed form [ClosedForm] is for display.
//   - [ResponseEpsilon], [ResponseDelta]: the privacy blanket (Balle, Bell, Gascón and Nissim 2019) for k-ary randomized response, as an
//     exact multinomial sum.
//
// # What it may import
//
// The standard library and gonum. It does not import the privacy package, which imports it.
//
// # What it promises
//
// The relation is replace-one: n is public and one user's value changes. Results are intervals around the value of the named bound;
// Upper is never below it, and what the summation leaves out is charged in full (P8, P17). More users, a smaller eps0 or a larger delta
// never make a bound worse by more than the interval. The clones bound takes milliseconds for n up to 10^7 and a fraction of a second for
// 10^9 (users beyond that are not counted); the blanket a fraction of a second up to 10^6, a few seconds for 10^9 or for a delta of 1e-300.
//
// # What it does not protect against
//
// A shuffler that leaks who sent what, users that do not run the randomizer (each such user is one fewer to hide among), or reports
// that carry metadata. The general bound of "Stronger privacy amplification by shuffling" and the variation-ratio bound for k-ary
// randomized response are deliberately absent: the first has an erratum, the second is below the truth for k >= 4.
package shuffle
