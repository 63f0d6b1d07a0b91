// Package linear is what the linear mechanisms share: sum, count, mean, proportion, ratio,
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
// The event that Plan answers with declares sensitivities that hold for every pair of
// neighbouring tables, if each vector keeps to the Reach that the mechanism gives with it.
// linear.proof.md shows why. The conformance suite checks the vectors themselves.
//
// It imports the SDK and privacy. It knows neither rows before the host has prepared them
// nor noise.
package linear
