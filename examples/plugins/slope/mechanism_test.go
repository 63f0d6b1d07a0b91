package main

import (
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
)

// TestConformance holds the plans to their form. The rest is the host's.
func TestConformance(t *testing.T) {
	sdktest.Test(t, Mechanism{}, sdktest.Config{Seed: 1})
}
