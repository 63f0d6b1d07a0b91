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
// A plugin may declare its query (sdk.Query). Their intervals need quantiles and roots, which no finish can say, so that the process
// would stay. The trees of quantiles and the tables of marginals have thousands of coordinates.
//
// It imports the SDK and privacy. It draws no noise, and sees rows only after the host has
// prepared them.
package linear
