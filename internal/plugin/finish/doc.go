// Package finish carries out the two halves of a linear mechanism that its plan may declare. The
// query (sdk.Query): what each row adds to the sums, and so how far a neighbour moves them. The
// finish (sdk.Finish): how the result follows from the noisy sums, by expressions over a public table,
// and by quantiles of noisy histograms.
//
// [Complete] makes a whole plan out of one with queries, and [Read] the [Queries] that rows are written
// to: no code of a plugin sees one. The proofs are query.proof.md and finish.proof.md.
//
// [New] reads a plan before any data is read and says what is wrong with its expressions.
// [Program.Result] sees the plan and the noisy sums and nothing else; it has no failure, because
// one could depend on a value (P20, P24). The proof of internal/plugin/host says what
// follows for a release.
//
// It imports internal/rows, which evaluates, internal/data/table for its columns, and plugins/sdk.
package finish
