package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/dprelease/dprelease/report"
)

// read reads the report of a run.
func read(path string) *report.Report {
	text, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	var r report.Report
	if err := json.Unmarshal(text, &r); err != nil {
		log.Fatal(err)
	}
	return &r
}

// The report of a run says what was released, and what it cost.
func ExampleReport() {
	r := read("testdata/schools/report.json")
	fmt.Printf("%s: %s, %s, ε %.2f, δ %g\n", r.Job.Name, r.Dataset.Unit, r.Guarantee.Relation, r.Guarantee.Epsilon, r.Guarantee.Delta)
	for _, x := range r.Releases {
		fmt.Printf("%s: %s from %s\n", x.Name, x.Mechanism.Name, x.From)
	}
	// Output:
	// schools-2000: row, replace-one, ε 1.90, δ 0
	// api_mean: mean from all
	// api_sampled: mean from srs
	// enrolment_by_type: mean from srs
	// api_multistage: mean from geo
}

// A page is made from the report and the released values, without the table.
func ExampleNewPage() {
	r := read("testdata/schools/report.json")
	page, err := report.NewPage(r)
	if err != nil {
		log.Fatal(err)
	}
	var out bytes.Buffer
	if err := page.WriteHTML(io.Discard, &out, r, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println(bytes.Contains(out.Bytes(), []byte("<title>")))
	// Output:
	// true
}
