// Package ratio is the mechanism that releases the ratio of the sums of two numeric columns,
// of the whole table or by group: income a household member, accidents a kilometre.
//
// # Contract
//
// A row adds its two values, clipped to their public bounds and rounded to two public
// lattices, to one vector; a row that lacks one of them adds neither. The lattices are
// chosen so that both values have the same largest magnitude in steps, and the vector
// moves by what both can move together. The host adds noise to both sums of all groups
// once, and the ratio is a function of the noisy sums. Units with several rows are bounded
// by the cap of the job (P22).
//
// The denominator must not have negative values: its sum could be anywhere near 0. See
// ratio.proof.md.
package ratio
