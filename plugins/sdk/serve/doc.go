// Package serve makes a plugin of mechanisms: it answers the host over the plugin
// protocol (specs/plugin-v1.md). A plugin's main function is one call of it:
//
//	func main() { serve.Mechanisms(myMechanism{}) }
//
// It is apart from package sdk so that a mechanism, and its tests, compile without the
// transport. It imports go-plugin, gRPC, plugins/sdk and internal/plugin/wire.
//
// The process ends when the host is gone, says nothing about rows in an error (P20),
// and reads every row even where a mechanism does not.
package serve
