// Command dprelease-mechanisms serves the built-in mechanisms. dprelease and its companions start it, as they start any plugin, from
// their own folder; nobody else does. It holds neither a ledger nor a job, and opens no file.
package main

import (
	_ "github.com/dprelease/dprelease/internal/plugin/sandbox/launcher" // it confines itself before it serves
	"github.com/dprelease/dprelease/plugins/builtin"
	"github.com/dprelease/dprelease/plugins/sdk/serve"
)

func main() { serve.Mechanisms(builtin.Served()...) }
