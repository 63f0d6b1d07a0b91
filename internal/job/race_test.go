//go:build race

package job_test

// slower is how much more time the race detector may take.
const slower = 10
