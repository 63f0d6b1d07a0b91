// Package figure draws: shapes for the pages of the report, frames with axes, and the
// figures of the planner, the accountant and the papers, in one plain style that is
// readable in grey. It marks axes with round numbers or powers of ten, few enough to
// be read.
//
// It stands on the standard library and gonum's quantiles. It knows nothing of privacy
// or of data.
package figure
