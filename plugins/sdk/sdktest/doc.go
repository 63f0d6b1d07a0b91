// Package sdktest runs a mechanism inside a test, without a process: it plans
// twice, feeds rows, answers noise calls, and holds the mechanism to its plan in
// the way that the host does.
//
// It imports the SDK, internal/wire and privacy. It draws no noise: by default the
// values come back as they went, so that a test sees the query itself. What passes
// here is not private because of it; the sensitivity stays the author's claim.
package sdktest
