package main

import (
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func main() {
	out := flag.String("out", "lab/studies", "the folder of the page")
	folder := flag.String("data", "lab/rsurvey", "the folder of survey.R and data")
	program := flag.String("program", "bin/dprelease", "the program")
	anew := flag.Bool("r", false, "run R first")
	flag.Parse()
	if err := run(*out, *folder, *program, *anew); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(out, folder, program string, anew bool) error {
	data := filepath.Join(folder, "data")
	if anew {
		if text, err := exec.Command("Rscript", filepath.Join(folder, "survey.R"), data).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	lines, err := compare(program, data)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "survey.md"), page(lines), 0o644)
}

// design is a way in which a table of the study was drawn.
type design struct {
	name, file, dataset string
	rows                int
}

const frame = "frame: {path: %q, records: schools}, collected: {method: multistage, allocation: equal, stages: "

var designs = []design{
	{"srswor", "apisrs", "collected: {method: srswor, population: 6194}", 200},
	{"stratified", "apistrat", "collected: {method: stratified, strata: school_type, allocation: fixed-before, take: {E: 100, H: 50, M: " +
		"50}, population: {E: 4421, H: 755, M: 1018}}", 200},
	{"poisson", "apipoisson", "collected: {method: poisson, rate: 0.05}", 0},
	{"rates", "apirates",
		"collected: {method: stratified, strata: school_type, allocation: fixed-before, rates: {E: 0.03, H: 0.1, M: 0.08}}", 0},
	{"apiclus1", "apiclus1", frame + "[{unit: district, take: 15}, {take: all}]}", 183},
	{"apiclus2", "apiclus2", frame + "[{unit: district, take: 40}, {take: 5, if_fewer: all}]}", 126},
	{"weights", "apistrat", "weights: {column: weight, at_most: 45, first_stage: unit}", 200},
}

// statistics are the releases, by the names that survey.R gives them.
var statistics = []struct{ name, mechanism, params, cell string }{
	{"mean", "mean", "{column: api00}", ""},
	{"mean by group", "mean", "{column: api00, by: school_type}", "group"},
	{"sum", "sum", "{column: api00}", ""},
	{"sum by group", "sum", "{column: api00, by: school_type}", "school_type"},
	{"share", "proportion", "{column: school_type, values: [E]}", ""},
	{"count", "count", "{by: school_type}", "school_type"},
	{"ratio", "ratio", "{numerator: api00, denominator: api99}", ""},
	{"variance", "variance", "{column: api00}", ""},
	{"histogram", "histogram", "{column: api00, edges: [200, 500, 600, 700, 1000]}", "lower"},
}

// clustered reports whether a design gives intervals for the four statistics of clusters alone.
func (d design) clustered() bool { return strings.HasPrefix(d.dataset, "frame") }

// job is a job with all statistics of a table, at an ε that leaves no noise to speak of.
func (d design) job(data string) (string, error) {
	dataset, relation := d.dataset, "relation: add-remove"
	if d.clustered() {
		path, err := filepath.Abs(filepath.Join(data, "../../../examples/data/districts-frame.csv"))
		if err != nil {
			return "", err
		}
		dataset = fmt.Sprintf(dataset, path)
	}
	if d.rows > 0 {
		relation = fmt.Sprintf("relation: replace-one, size: %d", d.rows)
	}
	table, err := filepath.Abs(filepath.Join(data, d.file+".csv"))
	if err != nil {
		return "", err
	}
	var releases strings.Builder
	for i, s := range statistics {
		if d.clustered() && i >= 6 {
			break
		}
		fmt.Fprintf(&releases, "  - {name: r%d, mechanism: %s, params: %s, guarantee: {epsilon: %q}, interval: 95}\n", i, s.mechanism,
			s.params, "1e11")
	}
	columns := "api00: {lower: 200, upper: 1000}, api99: {lower: 200, upper: 1000}, school_type: {domain: [E, H, M]}"
	if strings.HasPrefix(dataset, "weights") {
		columns += ", weight: {type: number}"
	}
	return fmt.Sprintf("version: 1\njob: %[1]s\ndataset: {id: %[1]s, source: {path: %[2]q}, %[3]s, unit: row, %[4]s, columns: {%[5]s}}\n"+
		"budget: {limit: {epsilon: \"1e13\"}}\nreleases:\n%[6]soutput: {dir: out, formats: [json]}\n", d.name, table, relation, dataset,
		columns, &releases), nil
}

// figures hold an estimate, its standard error and the ends of its interval.
type figures struct{ Estimate, Error, Low, High float64 }

// line is one value of the study.
type line struct {
	design, statistic, cell string
	r, ours                 figures
}

// compare runs all designs and sets them beside R's numbers.
func compare(program, data string) ([]line, error) {
	lines, err := readR(filepath.Join(data, "r.csv"))
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "rsurvey-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	for _, d := range designs {
		text, err := d.job(data)
		if err != nil {
			return nil, err
		}
		mine := filepath.Join(folder, d.name)
		job := filepath.Join(mine, "job.yaml")
		if err := os.Mkdir(mine, 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(job, []byte(text), 0o600); err != nil {
			return nil, err
		}
		if text, err := exec.Command(program, "run", job).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", d.name, err, text)
		}
		for i := range lines {
			if l := &lines[i]; l.design == d.name {
				if err := l.find(filepath.Join(mine, "out")); err != nil {
					return nil, err
				}
			}
		}
	}
	return lines, nil
}

func readR(path string) (out []line, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	for _, r := range rows[1:] {
		var x [4]float64
		for i := range x {
			if x[i], err = strconv.ParseFloat(strings.TrimSpace(r[3+i]), 64); err != nil {
				return nil, err
			}
		}
		out = append(out, line{design: r[0], statistic: r[1], cell: r[2], r: figures{x[0], x[1], x[2], x[3]}})
	}
	return out, nil
}

// find reads the value of a line from the files of a run.
func (l *line) find(out string) error {
	at := slices.IndexFunc(statistics, func(s struct{ name, mechanism, params, cell string }) bool { return s.name == l.statistic })
	b, err := os.ReadFile(filepath.Join(out, fmt.Sprintf("r%d.json", at)))
	if err != nil {
		return err
	}
	var rows []map[string]any
	if err := json.Unmarshal(b, &rows); err != nil {
		return err
	}
	for _, row := range rows {
		if l.cell != "" && fmt.Sprint(row[statistics[at].cell]) != l.cell {
			continue
		}
		number := func(name string) float64 {
			if x, ok := row[name].(float64); ok {
				return x
			}
			return math.NaN()
		}
		l.ours = figures{number("estimate"), number("standard_error"), number("interval_low"), number("interval_high")}
		return nil
	}
	return fmt.Errorf("%s: %s has no row %q", l.design, l.statistic, l.cell)
}
