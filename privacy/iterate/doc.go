// Package iterate bounds the privacy of noisy gradient descent that releases only its last iterate (rule P9).
//
//	mu, err := iterate.Mu(iterate.Params{
//		Kind: iterate.FullStronglyConvex, Sensitivity: 10, Sigma: 2, N: 50, Steps: 100,
//		Eta: 0.1, StrongConvexity: 0.1, Smoothness: 10,
//	})
//
// The bounds are stated as Gaussian differential privacy: the released iterate is no easier to tell apart than N(0, 1) from N(mu, 1).
// The privacy package turns mu into epsilon and delta. [Composition] is the cost of publishing every iterate. The smaller of the two is
// charged.
//
// # What it may import
//
// The standard library and gonum. It does not import the privacy package, which imports it.
//
// # What it promises
//
// A number only when every condition of its theorem holds; otherwise a [*Refusal] that names the condition. Numbers are rounded outward
// by a relative 1e-13 or more (P17).
//
// # What it does not protect against
//
// Conditions that cannot be checked from parameters are the caller's: losses that are convex and smooth as stated, no clipping, no
// momentum, projection on a convex set that does not depend on data, no intermediate iterate, gradient or loss published, batches that do
// not depend on any value and are the same in every pass, iterates on the lattice of the noise where that is discrete. The relation is
// replace-one: N is public.
package iterate
