// Package sdk is what the author of a mechanism writes against.
//
// A mechanism is a plugin process with three calls. Describe says what it is.
// Plan says, without any data, which events a release will cause and what it
// will look like. Release reads the columns it asked for, computes its query on
// an integer lattice, and asks the host for noise: the host draws it, exactly,
// and records what was drawn. A mechanism therefore cannot under-noise, and a
// release whose noise calls differ from its plan is refused.
//
// What stays the author's claim, and the author's to prove, is the sensitivity
// of the query. The conformance suite attacks that claim; it does not prove it.
//
// The signatures hold plain values only: no gRPC, no protobuf, no Arrow.
package sdk
