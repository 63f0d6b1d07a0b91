package budget_test

import (
	"os"
	"testing"

	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/plugins/count"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/sdk/serve"
)

// The test binary is also the program that runs the built-in mechanisms.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "__mechanism" {
		serve.Mechanisms(count.Mechanism{}, mean.Mechanism{})
		return
	}
	os.Exit(m.Run())
}

func options() pipeline.Options {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return pipeline.Options{Mechanisms: self, Version: "test", CreateLedger: true}
}
