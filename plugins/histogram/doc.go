// Package histogram is the mechanism that releases how many values of a numeric column lie
// in each of some bins with public edges, of the whole table or by group.
//
// # Contract
//
// The edges are parameters. A value counts in the bin [edge, next edge) that it lies in, the
// last bin with its upper edge; a value outside of all bins counts nowhere. A row changes at
// most one bin by one, and a replaced row leaves one bin and enters another, in its own group
// or in two. All bins of all groups are one vector query, and every bin is released whether
// or not a value is in it. Units with several rows are bounded by the cap of the job (P22).
//
// A count stands for the population: what a sample holds is multiplied by public weights.
// See histogram.proof.md.
package histogram
