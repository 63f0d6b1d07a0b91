// Package sdk is the library against which an author writes a mechanism.
//
// A mechanism releases something about a table, with noise. It is a type with three
// methods, and it is complete in about sixty lines; the package example is one.
//
//   - Describe says what it is: a name, its parameters as a JSON Schema, the relations
//     under which its claims hold, and the kinds of sample that it can use.
//   - Plan gets the parameters, what is public about the table, and the ε and δ that
//     the release may spend. It never sees data. It answers with the columns that it
//     wants, the exact shape of the result, and the event: which noise it will ask for,
//     in which order.
//   - Release reads the rows, computes its query on whole numbers, and asks the host for
//     the noise. The host draws it, exactly, and records what was drawn. A release whose
//     noise calls differ from its plan is refused.
//
// A mechanism can therefore not add too little noise. A linear one may also declare in its
// plan how the result follows from the noisy sums (Finish): the host then computes it, and
// no code of the mechanism runs after it saw rows. What stays the author's claim, and
// the author's to prove, is the sensitivity of the query: by how much it moves when one
// record comes, goes or changes. A sensitivity that is too small is a breach that the
// host cannot see. Package sdktest attacks the claim in an ordinary Go test; it does not
// prove it.
//
// # From a mechanism to a plugin
//
// Package plugins/sdk/serve makes a plugin of mechanisms:
//
//	func main() { serve.Mechanisms(myMechanism{}) }
//
// A job names the executable and its SHA-256, and dprelease runs it as a process of its
// own. `dprelease plugin new` writes all of this; docs/writing-a-mechanism.md goes
// through it step by step. A plugin in any other language is written against
// specs/plugin-v1.md.
//
// # What the package promises
//
// Its types hold plain values: no gRPC, no protobuf, no Arrow, and nothing of them is
// compiled into a mechanism or its tests. It imports the standard library, privacy and plugins/columns.
//
// It does not protect rows from the mechanism, nor the guarantee from a sensitivity that
// is too small.
package sdk
