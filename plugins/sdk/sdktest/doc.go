// Package sdktest is the conformance suite for mechanisms, and what a mechanism's
// own tests are written with.
//
// Run runs a mechanism once, without a process: it plans twice, feeds rows, answers
// noise calls, and holds the mechanism to its plan in the way that the host does.
//
// Check looks for a promise that a mechanism breaks (specs/conformance-v1.md lists
// them). It makes requests that the mechanism accepts and tables that are likely to
// trouble it; runs it on a table, records every noise call, and replays it with the
// same noise on a neighbouring table. Then the calls must be the same, the queries
// must move by no more than is declared, and the result must not differ at all: it
// may depend on rows through the noisy answers alone. A counterexample is printed
// as a small pair of tables. A mechanism that draws noise of its own is run many
// times instead, and its ε is bounded from below.
//
//	func TestConformance(t *testing.T) { sdktest.Test(t, myMechanism{}, sdktest.Config{}) }
//
// It imports the SDK, internal/plugin/calls, privacy, gonum and a JSON Schema validator. It
// draws no noise that protects anything; all its data is generated.
//
// The verdict is REFUTED or NOT REFUTED, never "passed". What is not refuted is not
// private because of it: the suite sees tables of a dozen rows and some large ones, not all tables; the
// sensitivity stays the author's claim, to be proved. It does not look at the time
// a release takes, at what a mechanism writes to other places, nor for a mechanism
// that knows when it is being tested.
package sdktest
