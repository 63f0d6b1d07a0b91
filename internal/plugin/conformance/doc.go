// Package conformance runs the conformance suite (plugins/sdk/sdktest) against a
// plugin process, through the host that a job would use, and looks at what only a
// process can get wrong: the handshake, what it prints, when it ends.
//
// It also runs the plugin behind the operators of a job, such as where, by, fold and cap,
// through internal/run, and compares neighbours from before the operator.
//
// It imports internal/plugin/host, internal/job, internal/plan, internal/run, internal/plugin/wire, plugins/sdk and its
// sdktest, and gRPC for the checks that the host would not let happen.
//
// All rows that it hands over are generated. Like the suite it can refute a plugin
// and never vouch for one; a plugin that behaves only while it is tested gets by.
package conformance
