// Package sgd is the mechanism that releases a linear or logistic regression,
// found by noisy gradient descent on random batches (DP-SGD).
//
// # Contract
//
// Every record becomes a row of whole numbers, by public bounds and domains alone;
// a record with a missing value becomes the empty row, which moves nothing. In
// every step
//
//   - the host draws a Poisson batch of all records, each with the public rate and
//     on its own coin, and a batch may be empty or hold everything;
//   - the gradient of each record in the batch, a residual times its row, is cut to
//     the clipping norm C, inside the rounding to the lattice: the vector that a
//     record adds to the sum is whole-numbered and has an L2 norm of at most C;
//   - the host adds discrete Gaussian noise to the sum. The sum moves by at most C
//     where a record joins or leaves and by at most 2C where one is replaced (P1);
//   - the noisy sum is divided by the public expected size of a batch, never by the
//     realised one (P12, P14).
//
// The event is repeat{T, poisson{q, discrete_gaussian}}, or repeat{T,
// discrete_gaussian} where the rate is 1, and meets the target under every relation
// that is asked for. All that follows the noise, the step, the penalty, the mean of
// the iterates and the return to the columns' units, is post-processing.
//
// With accounting: last-iterate every step takes all records, or the records are put
// into batches once by the host, at random, and taken in turn, in several passes or
// in one; nothing is clipped, the iterates stay in a public ball and on the lattice of
// the noise, and only the last of them leaves: the event is last_iterate (P9), under
// replace-one, or the plan is refused with the condition that fails. Proof:
// lastiterate.proof.md.
//
// The caller must meet: values clipped by the host, one record a unit, the whole
// table (a batch is drawn from all of it). Proof: sgd.proof.md.
//
// # What it may import
//
// The SDK, package privacy, the standard library and gonum's matrix products.
//
// # What it does not protect against
//
// Bounds, domains, clipping norms or step sizes that were tuned on the data. The
// time a step takes depends on the size of its batch, which is private (P19). What
// is released has no standard errors: noise and sampling error of a coefficient
// depend on how the features lie, which is private.
package sgd
