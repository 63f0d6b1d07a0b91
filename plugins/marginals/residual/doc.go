// Package residual plans how much noise each part of a family of tables gets, so that the
// tables are as accurate as any Gaussian noise on linear queries allows (residual mechanisms,
// arXiv 2305.08175).
//
// A table counts records by some attributes. What it says beyond the tables of fewer
// attributes is its residual: the counts, centred along each attribute. The residuals of all
// tables are measured once, each with noise of its own variance, and every table is the sum
// of the residuals below it. So two tables agree wherever they say the same.
//
// An attribute may be a hierarchy: countries, then states, then counties. Each level is then
// centred within the nodes of the level above.
//
// The package knows attributes, variances and whole numbers. It sees no row and draws no
// noise. residual.proof.md derives the formulas.
package residual
