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
// Serve is a plugin's main function; package sdktest runs a mechanism in a test
// without a process. In any other language a plugin is written against plugin-v1,
// which Serve implements: it answers the host, ends when the host is gone, says
// nothing of rows in an error, and reads every row even where a mechanism does not.
//
// The signatures hold plain values only: no gRPC, no protobuf, no Arrow. The
// package imports go-plugin, gRPC, internal/wire and privacy.
//
// It does not protect rows from the mechanism, nor the guarantee from a
// sensitivity that is too small.
package sdk
