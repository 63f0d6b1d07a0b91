// Package sum is the mechanism that releases the total of a numeric column, of the whole
// table or by group.
//
// # Contract
//
// The host hands over values clipped to the column's public bounds [L, U]. They are
// rounded to a public lattice and added in whole numbers; the host adds noise to the
// whole vector of totals once. Under add-remove a total moves by the largest magnitude of
// weight times value; under replace-one by the range of weight times value where a row
// always stays in its one cell, and by more where it may leave or switch cells. Units with
// several rows are bounded by the cap of the job (P22).
//
// Where the number N of rows is public and every row counts, the total is N·c + Σ w(y−c)
// with c the middle of the range: it moves by half the range where rows come and go.
//
// A total stands for the population: what a sample holds is multiplied by public weights.
// See sum.proof.md.
package sum
