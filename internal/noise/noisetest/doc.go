// Package noisetest holds the tests of random laws that internal/noise and
// samplers share: walking through all choices of a sampler, and goodness of fit
// with a false-alarm probability that is a theorem, not an approximation.
//
// It is for tests only, and imports the standard library only.
package noisetest
