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
// The evaluator runs every method that supports the expression (basic, Rényi,
// privacy-loss distributions, amplification rules), names those that do not
// and why, and charges the smallest sound result.
//
// The package imports the standard library and gonum only, so that it can be
// used by anyone without the rest of the project.
//
// It does not protect against an event that did not happen: whoever builds the
// expression must be the code that drew the sample or the noise.
package privacy
