// Package sgd is the mechanism that releases a linear or logistic regression found by
// noisy gradient descent (DP-SGD).
//
// # Contract
//
// Public bounds and domains alone turn every record into a row of whole numbers. A
// record with a missing value becomes the empty row, which moves nothing. In every
// step
//
//   - the host draws a Poisson batch: it takes each record at the public rate, on a coin
//     of its own. A batch may be empty or hold everything. At rate 1 nothing is drawn;
//   - the mechanism cuts the gradient of each record in the batch to the clipping norm
//     C, rounding included, and adds the gradients up in whole numbers;
//   - the host adds discrete Gaussian noise to the sum. The sum moves by at most C when
//     a record joins or leaves, and by at most 2C when one is replaced (P1);
//   - the mechanism divides the noisy sum by the public expected size of a batch, never
//     by the size that was drawn (P12, P14).
//
// The event is repeat{T, poisson{q, discrete_gaussian}}, or repeat{T,
// discrete_gaussian} at rate 1. It meets the target under every relation that the
// request names. Everything after the noise is post-processing: the step, momentum, the
// penalty, the mean of the iterates, the verdict, the columns' units.
//
// With accounting: last-iterate a step takes all records, or the next of the batches
// into which the host put the records once, at random. Nothing is clipped, the iterates
// stay in a public ball and on the lattice of the noise, and only the last iterate
// leaves. The event is last_iterate (P9), under replace-one. A plan that breaks a
// condition of that bound is refused, with the condition. Proof: lastiterate.proof.md.
//
// The caller must clip values to their bounds, give each unit one record, and hand over
// the whole table, because batches are drawn from all of it. Proof: sgd.proof.md.
//
// # What it may import
//
// The SDK, package privacy, plugins/features, the standard library and gonum's matrix
// products.
//
// # What it does not protect against
//
// Bounds, domains, clipping norms or step sizes that somebody tuned on the data. The
// time of a step depends on the size of its batch, which is private (P19). The release
// has no standard errors: they depend on how the features lie, which is private.
package sgd
