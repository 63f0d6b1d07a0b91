package main

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The generated table is the same every time, and its line falls as the page says.
func TestFlights(t *testing.T) {
	a, b := flights(50_000), flights(50_000)
	w, se, err := a.leastSquares()
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := b.leastSquares()
	if err != nil || again[1] != w[1] {
		t.Errorf("the table is another the second time: %v", err)
	}
	if math.Abs(w[1]+0.00065) > 4*se[1] {
		t.Errorf("the slope is %v ± %v", w[1], se[1])
	}
}

// The tables of the page have every mechanism at every epsilon, and a regression that
// is closer to least squares the larger epsilon is.
func TestCompare(t *testing.T) {
	s, err := incomes("../../examples/data/eusilc.csv")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := s.compare(&b, 3, 3); err != nil {
		t.Fatal(err)
	}
	var worst []float64
	for line := range strings.Lines(b.String()) {
		cells := strings.Split(line, "|")
		if len(cells) > 6 && strings.Contains(cells[2], "`regression`") {
			x, err := strconv.ParseFloat(strings.TrimSpace(cells[6]), 64)
			if err != nil {
				t.Fatal(err)
			}
			worst = append(worst, x)
		}
	}
	if len(worst) != 3 || !(worst[0] > worst[1] && worst[1] > worst[2]) || worst[2] > 1 || strings.Count(b.String(), "`sgd") != 6 {
		t.Errorf("errors of regression: %v\n%s", worst, b.String())
	}
}

// The job runs on a smaller table of the same kind.
func TestJobRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("the full tests link the program and run the job; TestCompare stays")
	}
	dir := t.TempDir()
	if err := run(20_000, 0, 0, "", filepath.Join(dir, "flights.parquet"), ""); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../examples/linear/flights.yaml")
	if err != nil {
		t.Fatal(err)
	}
	job := filepath.Join(dir, "flights.yaml")
	small := strings.Replace(string(text), "rows: 3000000", "rows: 20000", 1)
	if err := os.WriteFile(job, []byte(small), 0o644); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "dprelease")
	build := exec.Command("go", "build", "-C", "../..", "-o", filepath.Dir(bin)+"/",
		"./cmd/dprelease", "./cmd/dprelease-mechanisms")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command(bin, "run", "-v", job).CombinedOutput(); err != nil || !strings.Contains(string(out), "standard_error") || !strings.Contains(string(out), "verdict ") {
		t.Fatalf("%v\n%s", err, out)
	}
	b, err := os.ReadFile(filepath.Join(dir, "out", "report.json"))
	if err != nil || !json.Valid(b) {
		t.Errorf("the report: %v", err)
	}
}
