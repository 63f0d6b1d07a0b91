// Package insecureshelf holds mechanisms that are broken on purpose, each in one
// way in which real ones have been, with the name of the check that must catch it.
// It is what the conformance suite is tested with: a suite that finds nothing wrong
// here finds nothing.
//
// Nothing in it may ever be served to a job. It imports the SDK and privacy.
package insecureshelf
