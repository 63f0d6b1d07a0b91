// Package figure draws: shapes for the pages of the report, and frames with axes, whose looks are those of the
// page. It marks axes with round numbers or powers of ten, few enough to be read.
//
// It stands on the standard library. It knows nothing of privacy or of data.
package figure
