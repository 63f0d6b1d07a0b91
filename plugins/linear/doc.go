// Package linear is the kernel of the linear mechanisms: sum, count, mean, proportion, ratio,
// variance, sd, distinct and histogram.
//
// Such a mechanism makes a vector of whole numbers from each row. The vectors of all rows
// are added, the host adds noise once to the whole sum, and the mechanism turns the noisy
// sum into its result. A mechanism says in a Form what the vector of a row is (Query) and
// how the result is made. The package does the rest: groups, missing values, weights,
// units with several rows, both relations, the choice and the size of the noise.
//
// # What it promises
//
// Plan answers with an event whose sensitivities hold for every pair of neighbouring tables, if
// each vector keeps to the Reach that the mechanism gives with it (linear.proof.md). The
// conformance suite checks the vectors themselves.
//
// # Why its queries are not declared
//
// A plugin may declare its query (sdk.Query). Speed and noise are no reason against it here: the host adds declared rows up in 0.5
// to 1.2 times the time (BenchmarkWrite of internal/plugin/finish), and bounds a count, a mean and a variance as Reach does. But:
//
//   - Rows are only part of a mechanism. Its intervals need quantiles and roots, which no finish can say, so the process stays
//     for them. With rows it has 370 lines, of which 120 serve shapes that a query can say; the plans, groups of several columns
//     and process that finishes without a finish would take more.
//   - The other 250 lines serve intervals for samples: squares of totals of clusters, which are sums of no single row, and counts
//     at nodes (Nodes) that the weight of a row chooses, which no expression may read.
//   - A histogram has up to 10,000 uneven edges, and an expression 4,096 characters. Trees of quantiles and tables of marginals
//     have thousands of coordinates.
//   - A declared row may always vanish (P39). The total of values in [10, 100], none missing, under replace-one moves by 90 here
//     and by 100 there.
//
// It imports the SDK and privacy. It draws no noise, and sees rows only after the host has
// prepared them.
package linear
