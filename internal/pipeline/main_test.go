package pipeline_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/plugins/count"
	"github.com/dprelease/dprelease/plugins/marginals"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/median"
	"github.com/dprelease/dprelease/plugins/proportion"
	"github.com/dprelease/dprelease/plugins/randomizedresponse"
	"github.com/dprelease/dprelease/plugins/ratio"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/serve"
	"github.com/dprelease/dprelease/plugins/sgd"
	sumof "github.com/dprelease/dprelease/plugins/sum"
)

var builtins = map[string]sdk.Mechanism{"mean": mean.Mechanism{}, "median": median.Mechanism{}, "sgd": sgd.Mechanism{}, "randomized-response": randomizedresponse.Mechanism{}, "dying": dying{}, "count": count.Mechanism{}, "sum": sumof.Mechanism{}, "proportion": proportion.Mechanism{}, "ratio": ratio.Mechanism{}, "marginals": marginals.Mechanism{}}

// The test binary is also the program that runs the built-in mechanisms, as the
// real one is, and a whole run of a job that can be killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "__mechanism" {
		serve.Mechanisms(slices.Collect(maps.Values(builtins))...)
		return
	}
	if job := os.Getenv("PIPELINE_TEST_RUN"); job != "" {
		os.Exit(runJob(job))
	}
	goleak.VerifyTestMain(m)
}

func runJob(path string) int {
	j, err := pipeline.Load(path, os.LookupEnv)
	if err == nil {
		o := options()
		if point := os.Getenv("PIPELINE_TEST_KILL"); point != "" {
			o = killer(point)
		}
		_, err = pipeline.Run(background, j, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func options() pipeline.Options {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return pipeline.Options{Mechanisms: self, Version: "test", CreateLedger: true}
}

// example is a table of the examples.
func example(t testing.TB, name string) string {
	t.Helper()
	p, err := filepath.Abs(filepath.Join("../../examples/data", name))
	if err != nil {
		t.Fatal(err)
	}
	return p
}
