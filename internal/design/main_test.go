package design

import (
	"os"
	"testing"

	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/plugins/builtin"
	plugin "github.com/dprelease/dprelease/plugins/sdk/serve"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == pipeline.ServeArgument {
		plugin.Mechanisms(builtin.Served()...)
		return
	}
	os.Exit(m.Run())
}
