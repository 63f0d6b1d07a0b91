//go:build race

package language_test

// slower is the factor of time that the race detector may take.
const slower = 10
