// Package median is the mechanism that releases the median, or any quantiles, of
// a numeric column.
//
// # Contract
//
// The host hands over values clipped to the column's public bounds [L, U]. The
// quantile of rank p of n values is the one in place ⌈pn⌉; L stands before the
// first value and U after the last. Two methods, the second by default:
//
//   - smooth-laplace: the quantile plus Laplace noise in proportion to its
//     β-smooth sensitivity S (P13). An event approx{ε, δ} a quantile. S depends on
//     the data and is private (P19): it goes to the host with the noise call and
//     nowhere else. The lattice of the result and the floor under S are public.
//     All values of the sample are held in memory, 8 bytes each (up to 20 while they
//     arrive, where their number is secret), and sorted once; the maximisation
//     behind S needs at most 8 bytes a value more.
//   - exponential: the values are rounded to a public lattice and a point of it is
//     drawn by the exponential mechanism with the distance in (weighted) rank as
//     its score. An event bounded_range{ε} a quantile. Memory follows the lattice, not the
//     table. The only method for records of unequal weight.
//
// Both hold under either relation, for every design that the mechanism lists, and
// where missing values are dropped. Several quantiles share the budget equally;
// putting them in ascending order and within the bounds is post-processing.
//
// What the mechanism does not hide: the job, the bounds, the ranks, the method and
// its lattice. How long a release takes depends on the values (see the note on
// timing in internal/noise). Proofs: smooth.proof.md, exponential.proof.md.
package median
