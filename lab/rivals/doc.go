// Rivals runs the same tasks with dprelease and with the tools that a user would choose instead, in one run on one machine, and
// writes lab/studies/rivals.md. Each rival is installed from Python's index into an environment of its own, at the version that
// stands in tools.go; none is a part of the build or of a test.
//
//	make build lab && bin/lab/rivals            # a quarter of an hour on two idle processors
//	bin/lab/rivals -only means                  # one task, to the terminal
package main
