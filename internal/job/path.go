package job

import "github.com/dprelease/dprelease/internal/say/problem"

// Places and problems come from package problem.
type (
	Pos      = problem.Pos
	Problem  = problem.Problem
	Problems = problem.Problems
)

// Key appends a key to a path: Key("samples.srs", "size") is "samples.srs.size".
func Key(path, key string) string { return problem.Key(path, key) }

// Item appends the index of a list element to a path: Item("releases", 0) is
// "releases[0]".
func Item(path string, i int) string { return problem.Item(path, i) }
