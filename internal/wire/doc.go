// Package wire is what both ends of the plugin joint must agree on: the messages
// of plugin-v1 (generated), the codec of events, the Arrow framing of rows, the
// order of noise calls, and the limits.
//
// It imports the standard library, privacy, Arrow, flatbuffers, gRPC and protobuf. Generated
// and Arrow types stop here and in the two ends; neither appears in what a
// mechanism's author sees.
//
// The package promises that what it decodes is well formed: known fields only,
// finite numbers, bounded depth. It does not judge what an event costs, and it
// holds no policy on what a plugin may do: that is internal/host.
package wire
