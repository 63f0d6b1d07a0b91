// Package finish computes the result of a release from its noisy sums, as the plan of its
// mechanism declares (sdk.Finish): expressions over a public table and the answers to the noise
// calls, and quantiles of noisy histograms.
//
// [New] reads a plan before any data is read and says what is wrong with its expressions.
// [Program.Result] sees the plan and the noisy sums and nothing else; it has no failure, because
// one could depend on a value (P20, P24). The proof of internal/plugin/host says what
// follows for a release.
//
// It imports internal/rows, which evaluates, internal/data/table for its columns, and plugins/sdk.
package finish
