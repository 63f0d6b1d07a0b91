// Package regression is the mechanism that releases a linear regression from noisy
// sums of products: least squares in one pass over the table.
//
// # Contract
//
// The mechanism scales every column by its public bounds to [-1, 1]. It adds up, over
// all rows, the products of each pair of columns (the intercept and the target
// included) on a public integer lattice. The host adds noise to these sums, once.
// Coefficients and standard errors are computed from the noisy sums and from public
// facts alone, so they cost nothing more.
//
// Let P be the number of features plus two, for the intercept and the target, and K
// the number of features that are categories. One row more or less moves the vector
// of sums by at most sqrt(P(P+1)/2 − K) in L2 norm, and by P(P+1)/2 − K in L1 norm.
// One replaced row moves it by at most P and P² − K. Both figures hold for rows with
// design weights, divided by the largest weight. The proof is regression.proof.md.
//
// The caller must clip values to their bounds, give each unit one row, and state a
// true largest weight. The design may be any that the host offers.
//
// # What it may import
//
// The SDK, package privacy, plugins/features, the standard library and gonum's
// matrices.
//
// # What it does not protect against
//
// Bounds, domains or features that somebody chose by looking at the table.
package regression
