package pipeline_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/dprelease/dprelease/pipeline"
)

const exampleJob = `version: 1
job: schools
dataset:
  id: schools
  source: {path: %s}
  relation: replace-one
  size: 6194
  unit: row
  columns:
    api00: {lower: 200, upper: 1000}
budget: {limit: {epsilon: 1}}
samples:
  srs: {method: srswor, size: 800}
releases:
  - {name: score, from: srs, mechanism: mean, params: {column: api00}, guarantee: {epsilon: "0.5"}}
output: {dir: out, formats: [csv]}
`

// The program runs a small job twice, and serves the mechanisms as a child process of
// itself. In its main stands, before anything else:
//
//	if len(os.Args) == 2 && os.Args[1] == pipeline.ServeArgument {
//		serve.Mechanisms(mean.Mechanism{})
//		return
//	}
func ExampleRun() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	table, err := filepath.Abs("../examples/data/schools.parquet")
	if err != nil {
		log.Fatal(err)
	}
	path := filepath.Join(dir, "job.yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, exampleJob, table), 0o644); err != nil {
		log.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	o := pipeline.Options{Mechanisms: self}

	j, err := pipeline.Load(path, os.LookupEnv)
	if err != nil {
		log.Fatal(err)
	}
	planned, err := pipeline.Plan(context.Background(), j, o)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("it will cost at most %.2f\n", planned.Report.Guarantee.Epsilon)
	for range 2 {
		done, err := pipeline.Run(context.Background(), j, o)
		if err != nil {
			log.Fatal(err)
		}
		for _, c := range done.Results["score"].Columns {
			if c.Name == "estimate" {
				fmt.Printf("%d %s; released before: %t\n", len(c.Float64), c.Name, done.Already)
			}
		}
	}
	// Output:
	// it will cost at most 0.50
	// 1 estimate; released before: false
	// 1 estimate; released before: true
}
