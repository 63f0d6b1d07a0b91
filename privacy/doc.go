// Package privacy is the calculus that every guarantee of dprelease rests on.
//
// It answers one question: what does a data set's owner give away by doing
// this? What was done is an expression, an [Event]: noise that was added,
// samples that were drawn, how often. The answer is a guarantee under a named
// neighbouring [Relation], and it is always an upper bound on the whole
// privacy profile δ(ε) in both directions.
//
// A worked example: a thousand steps of noisy gradient descent on Poisson
// batches.
//
//	e := privacy.Repeat{N: 1000, Event: privacy.Poisson{Rate: 0.01,
//		Event: privacy.Gaussian{Sigma: 1}}}
//	a, err := privacy.EpsilonAt(e, privacy.AddRemove, 1e-6)
//
// The evaluator runs every method that supports the expression (basic
// composition and amplification, Rényi, privacy-loss distributions, shuffling,
// last iterates), names those that do not and why, and charges the smallest sound
// result.
//
// # What it may import
//
// The standard library and gonum, directly and through its numeric packages rdp,
// pld, amplify, shuffle and iterate, so that it can be used by anyone without the
// rest of the project.
//
// # What it promises
//
// A charged figure is an upper bound on the truth for every pair of neighbours, in
// both directions, with rounding outward (P17); each rule has its proof in a
// *.proof.md beside the code, and tiny populations are enumerated in the tests.
// Relations are never mixed: a rule asks its inner event for the relation that it
// needs, and an event that cannot answer is refused with its path. Published
// figures that are not proven are shown as claims and never charged. Bad input is
// an [*Error] with the path of the field; nothing panics. Answers are
// deterministic.
//
// # What it does not protect against
//
// An event that did not happen: whoever builds the expression must be the code
// that drew the sample or the noise. A sensitivity that is wrong. A sample that is
// not secret. Plans that depend on earlier outputs: [EpsilonAt] is for a plan that
// is frozen before any data is read, across plans use a [Filter] (P10).
package privacy
