// Package marginals is the mechanism that releases many tables of counts at once: by all
// combinations of some category columns, and by the levels of hierarchies.
//
// # Contract
//
// A row is in one cell of every table, or, where one of its values is missing, in none. Each
// table is a sum of residuals (package residual). A row adds whole numbers to the residuals,
// the contrasts of its cells, and all residuals are one vector query with discrete Gaussian
// noise. The declared sensitivity is the exact norm of what one row adds, and a bound of the
// difference of two. Units with several rows are bounded by the cap of the job (P22).
//
// The noise in a cell has exactly the stated standard deviation, and all tables agree with
// one another: they are functions of the same noisy residuals. Where the number of units is
// public, it is used, and nothing is measured for it.
//
// A count stands for the population: what a sample holds is multiplied by public weights.
// See marginals.proof.md.
package marginals
