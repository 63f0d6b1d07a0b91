// Command dprelease-mechanisms serves the built-in mechanisms. dprelease and its companions start it, as they start any plugin, from
// their own folder; nobody else does. It holds neither a ledger nor a job, and opens no file.
package main

import (
	"github.com/dprelease/dprelease/plugins/builtin"
	"github.com/dprelease/dprelease/plugins/sdk/serve"
)

func main() { serve.Mechanisms(builtin.Served()...) }
