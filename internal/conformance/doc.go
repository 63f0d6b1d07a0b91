// Package conformance runs the conformance suite (plugins/sdk/sdktest) against a
// plugin process, through the host that a job would use, and looks at what only a
// process can get wrong: the handshake, what it prints, when it ends.
//
// It imports internal/host, internal/wire, plugins/sdk and its sdktest, and gRPC for
// the checks that the host would not let happen.
//
// All rows that it hands over are generated. Like the suite it can refute a plugin
// and never vouch for one; a plugin that behaves only while it is tested gets by.
package conformance
