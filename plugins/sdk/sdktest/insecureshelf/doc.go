// Package insecureshelf holds mechanisms that are broken on purpose. Each has a fault that
// real mechanisms have had, and names the check that must catch it. The tests of the
// conformance suite use it: a suite that finds nothing wrong here finds nothing.
//
// Nobody may serve these mechanisms to a job. The package imports the SDK, privacy and the
// linear mechanisms, and breaks one part of each.
package insecureshelf
