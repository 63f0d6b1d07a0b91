package pipeline_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/pipeline"
)

// manyReleases is a job of n releases.
func manyReleases(n int) string {
	var b strings.Builder
	b.WriteString(tinyJob[:strings.Index(tinyJob, "releases:")] + "releases:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {name: r%d, mechanism: mean, params: {column: x}, guarantee: {epsilon: \"0.0001\"}}\n", i)
	}
	return b.String() + "output: {dir: out, formats: [csv]}\n"
}

// BenchmarkCheckMany checks a job of many releases. Reference: a job of a tenth of them, which may take a tenth of the time.
func BenchmarkCheckMany(b *testing.B) {
	for _, n := range []int{400, 4000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				path := write(b, manyReleases(n))
				j, err := pipeline.Load(path, os.LookupEnv)
				if err != nil {
					b.Fatal(err)
				}
				if err := pipeline.Check(b.Context(), j, options()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
