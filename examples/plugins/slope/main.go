// Command slope is a mechanism plugin for dprelease.
package main

import "github.com/dprelease/dprelease/plugins/sdk/serve"

func main() { serve.Mechanisms(Mechanism{}) }
