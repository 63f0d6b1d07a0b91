// Command small measures what many small releases cost: runs of 1, 10 and 200 means and counts over tables of 10 and
// 10,000 rows, and plan and check of the same jobs. It prints medians of processor time and of wall time.
//
//	bin/lab/small -bin bin/dprelease -before old/dprelease
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/dprelease/dprelease/lab/measure"
)

const head = `version: 1
job: small
dataset:
  id: small
  source: {path: %s}
  relation: replace-one
  size: %d
  unit: row
  columns: {x: {lower: 0, upper: 100}, g: {domain: [a, b, c, d]}}
budget: {limit: {epsilon: 100}}
output: {dir: out, formats: [csv]}
releases:
`

func main() {
	log.SetFlags(0)
	runs := flag.Int("runs", 11, "runs of each")
	bin := flag.String("bin", "bin/dprelease", "the program")
	before := flag.String("before", "", "another build of the program, measured in turns with it")
	flag.Parse()
	root, err := os.MkdirTemp("", "small")
	if err != nil {
		log.Fatal(err)
	}
	err = all(root, *bin, *before, *runs)
	os.RemoveAll(root)
	if err != nil {
		log.Fatal(err)
	}
}

func all(root, bin, before string, runs int) error {
	programs := []string{bin}
	if before != "" {
		programs = append(programs, before)
	}
	for _, rows := range []int{10, 10_000} {
		for _, releases := range []int{1, 10, 200} {
			if err := write(root, rows, releases); err != nil {
				return err
			}
			for _, command := range []string{"run", "plan", "check"} {
				wall, work := make([][]float64, len(programs)), make([][]float64, len(programs))
				for range runs {
					for i, p := range programs {
						c, err := once(root, p, command)
						if err != nil {
							return err
						}
						wall[i], work[i] = append(wall[i], c.Wall), append(work[i], c.Work)
					}
				}
				for i, p := range programs {
					fmt.Printf("%-6s %4d releases %6d rows %6.0f ms of processor time %6.0f ms of wall, %s\n",
						command, releases, rows, measure.Median(work[i]), measure.Median(wall[i]), p)
				}
			}
		}
	}
	return nil
}

// write leaves a table and its job in a folder.
func write(root string, rows, releases int) error {
	var table, job strings.Builder
	table.WriteString("x,g\n")
	for i := range rows {
		fmt.Fprintf(&table, "%d,%c\n", i*37%100, 'a'+i%4)
	}
	fmt.Fprintf(&job, head, "table.csv", rows)
	for i := range releases {
		params := "mechanism: mean, params: {column: x}"
		if i%2 == 1 {
			params = "mechanism: count, params: {by: g}"
		}
		fmt.Fprintf(&job, "  - {name: r%d, from: all, %s, guarantee: {epsilon: \"0.1\"}}\n", i, params)
	}
	if err := os.WriteFile(filepath.Join(root, "table.csv"), []byte(table.String()), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "job.yaml"), []byte(job.String()), 0o644)
}

// once starts a command on the job, without the results and the ledger of an earlier run.
func once(root, program, command string) (measure.Cost, error) {
	kept := []string{"table.csv", "job.yaml"}
	entries, err := os.ReadDir(root)
	if err != nil {
		return measure.Cost{}, err
	}
	for _, e := range entries {
		if e.Name() != kept[0] && e.Name() != kept[1] {
			if err := os.RemoveAll(filepath.Join(root, e.Name())); err != nil {
				return measure.Cost{}, err
			}
		}
	}
	return measure.Run(exec.Command(program, command, filepath.Join(root, "job.yaml")))
}
