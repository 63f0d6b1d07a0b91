// Package wire holds everything that both ends of the plugin protocol must agree on: the messages
// (generated), how they become the types of the SDK and back, the layout of rows in
// shared memory, and the limits.
//
// It imports the standard library, privacy, plugins/sdk, gRPC and protobuf. Generated
// types stop here and in the two ends (internal/plugin/host and plugins/sdk/serve); an author
// of a mechanism sees none of them.
//
// The package promises that what it decodes is well formed: known fields only,
// finite numbers, bounded depth. It does not judge what an event costs, and it holds
// no policy on what a plugin may do: internal/plugin/host does.
package wire
