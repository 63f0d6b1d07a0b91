// Package dprelease holds the source of the SDK for mechanisms, so that `dprelease plugin new` can
// write a module that needs no published version of this one. Nothing else is here: the program is
// cmd/dprelease, and the library that other programs import is pipeline.
package dprelease

import "embed"

// SDK is the source of the packages that a plugin and its tests compile, with their own tests,
// and the go.mod, go.sum and license of the module.
//
//go:embed go.mod go.sum LICENSE privacy/*.go privacy/rational/*.go privacy/amplify/*.go internal/calculus/cluster/*.go privacy/iterate/*.go
//go:embed internal/calculus/pld/*.go internal/calculus/rdp/*.go privacy/shuffle/*.go plugins/sdk/*.go plugins/sdk/serve/*.go
//go:embed plugins/sdk/sdktest/*.go internal/plugin/wire/*.go internal/plugin/wire/guest/*.go internal/plugin/calls/*.go
//go:embed internal/job/params/*.go plugins/columns/*.go
var SDK embed.FS
