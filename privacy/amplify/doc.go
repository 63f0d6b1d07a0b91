// Package amplify is the arithmetic of privacy amplification by sampling: from what a mechanism guarantees on the sample to what
// the population is guaranteed, and back (rules P3 and P5).
//
// Every function works on plain numbers: a rate, an epsilon, a delta, or a profile given as a function. Which neighbouring relation
// a rule proves, and which one it asks of the mechanism on the sample, is in the contract of each function and is enforced by the
// privacy package, which holds the event expressions.
//
//	q := amplify.Rate(800, 6194)                  // 800 of 6194 without replacement
//	onSample := amplify.SampleEpsilon(q, 1)       // what a mechanism may spend so that the population gets epsilon = 1
//	back := amplify.Epsilon(q, onSample)          // never above 1
//
// # What it may import
//
// The standard library. It does not import the privacy package, which imports it.
//
// # What it promises
//
// Forward results are rounded up and inverse results down, and each inverse is checked against its own forward function before it
// is returned, so that spending an inverse never exceeds the target by as much as one unit in the last place (P17). Everything goes
// through log1p and expm1 (P18): results are finite and correct to a few units in the last place for epsilon between 1e-300 and
// 1e300 and rates down to 1e-300. An argument that is out of range gives the sound answer: +Inf or 1 for a guarantee, 0 for what
// may be spent.
//
// # What it does not protect against
//
// A draw that is not secret, a rate that is not an upper bound on the true inclusion probability, or a mechanism whose guarantee
// holds only for the two values in which the neighbours differ: in a sample of fixed size any record of the population may take
// the place of the neighbour's, so the guarantee on the sample must cover every value of the domain.
package amplify
