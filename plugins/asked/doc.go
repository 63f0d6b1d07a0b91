// Package asked holds the releases that keys of a job ask for beside those that it lists: a bound
// that is found in private, and what a cap and bounds leave out.
//
// The job language writes their parameters and the mechanisms read them, so both use the types of
// this package. It imports nothing.
package asked
