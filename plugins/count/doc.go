// Package count is the mechanism that releases a table of counts by
// groups of public domains.
//
// # Contract
//
// Every record adds its weight to the cell of its group; the
// vector of all cells is one query. It moves by at most A, the largest weight, in L1 norm
// when a record comes or goes, and by at
// most 2A when one is replaced: it may leave one cell and enter another (P11). A
// cell of the public domain is released whether or not a record is in it, so that
// which cells are listed says nothing.
//
// Units with several rows are bounded by the cap of the job (P22). A group column with one
// value is a filter: a record can then only vanish from the one cell, and it moves the
// count by one (P24).
//
// Counts of a sample are scaled to the population by public design weights. The
// column consistent is labelled post-processing: it makes counts non-negative and,
// where the number of records is public, makes them add up to it; it sees nothing
// but the noisy counts. See count.proof.md.
package count
