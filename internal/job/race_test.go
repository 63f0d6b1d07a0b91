//go:build race

package job_test

// slower is the factor of time that the race detector may take.
const slower = 10
