package tables

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/report"
)

// made is a run with values of every kind that a publication treats differently.
func made() (*report.Report, map[string]report.Table) {
	low, high := 0.0, 60000.0
	fields := func(names ...string) (out []report.Field) {
		for _, n := range names {
			kind := "float64"
			if n == "region" || n == "flag" || n == "kind" || n == "name" || n == "status" {
				kind = "string"
			}
			out = append(out, report.Field{Name: n, Type: kind, Doc: "about " + n})
		}
		return out
	}
	long := strings.Repeat("a_very_long_name_", 3)
	r := &report.Report{
		Version: 1, Job: report.Job{Name: "made", Digest: "sha256:00ff"},
		Publication: &report.Publication{Title: "Cash & <more>", Publisher: "Office", Contact: "A. Clerk", Period: "2025", Published: "2026-10-31", Region: "Everywhere", Sector: "Government", Sources: []string{"https://example.org/method"}},
		Dataset:     report.Dataset{ID: "d", Unit: "row"}, Guarantee: report.Guarantee{Epsilon: 1.5, Delta: 1e-6},
		Releases: []report.Release{
			{Name: "cash", From: "all", By: []string{"region"}, Fields: fields("region", "estimate", "noise_sd", "interval_low", "interval_high", "flag"),
				Limits: &report.Limits{Cap: &report.CapLimit{Groups: 2, Rows: 3}, Columns: []report.ColumnLimit{{Column: "pay", Lower: &low, Upper: &high, Missing: report.Drop}, {Column: "sex", Outside: "as other"}}}},
			{Name: long + "1", From: "half", Fields: fields("region", "status", "estimate", "noise_sd")},
			{Name: long + "2", From: "all", Guarantee: report.Guarantee{Epsilon: 0.3}, Price: &privacy.Point{Epsilon: 0.6, Delta: 1e-6}, Fields: fields("estimate")},
			{Name: "fit", From: "all", Fields: fields("kind", "name", "value", "noise_se")},
			{Name: "binary", From: "all", Fields: fields("estimate")},
		},
	}
	values := map[string]report.Table{
		"cash": {Columns: []report.Column{
			{Name: "region", Texts: []string{"=1+1", "süd, \"x\" & <y>\x01", "east", "west", "zero"}},
			{Name: "estimate", Float64: []float64{20476919.125, 1000, -400, 0, 12.345678}, Blank: []bool{false, false, false, true, false}},
			{Name: "noise_sd", Float64: []float64{169705.6, 200, 400, 0, 0.0123}, Blank: []bool{false, false, false, true, false}},
			{Name: "interval_low", Float64: []float64{20117431.25, 608, -1184, 0, 12.32}, Blank: []bool{false, false, false, true, false}},
			{Name: "interval_high", Float64: []float64{20836407, 1392, 384, 0, 12.37}, Blank: []bool{false, false, false, true, false}},
			{Name: "flag", Texts: []string{"", "", "", "too few values", ""}},
		}},
		long + "1": {Columns: []report.Column{{Name: "region", Texts: []string{"a", "b"}}, {Name: "status", Texts: []string{"x", "y"}}, {Name: "estimate", Float64: []float64{547, -0.2}}, {Name: "noise_sd", Float64: []float64{2.8, 2.8}}}},
		long + "2": {Columns: []report.Column{{Name: "estimate", Float64: []float64{661.4686670675874}}}},
		"fit":      {Columns: []report.Column{{Name: "kind", Texts: []string{"coefficient", "fit"}}, {Name: "name", Texts: []string{"age", "rows"}}, {Name: "value", Float64: []float64{0.123456, 1234.5}}, {Name: "noise_se", Float64: []float64{0.0051, 0}, Blank: []bool{false, true}}}},
	}
	return r, values
}

func write(t *testing.T, rules Rules, change func(*report.Report)) (map[string][]byte, string) {
	t.Helper()
	r, values := made()
	if change != nil {
		change(r)
	}
	files, left, err := Make(r, values, rules)
	if err != nil || !slices.Equal(left, []string{"binary"}) {
		t.Fatal(err, left)
	}
	dir, out := t.TempDir(), map[string][]byte{}
	for _, f := range files {
		out[f.Name] = f.Content
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return out, dir
}

func rowsOf(t *testing.T, text []byte) [][]string {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// Values keep the digits that their noise leaves, and marks follow the rules.
func TestRoundedAndMarked(t *testing.T) {
	files, _ := write(t, Rules{Flag: 0.15, Blank: 0.3}, nil)
	want := [][]string{
		{"region", "estimate", "noise_sd", "interval_low", "interval_high", "flag", "status"},
		{"'=1+1", "20480000", "170000", "20120000", "20840000", "", ""},
		{"süd, \"x\" & <y>\x01", "1000", "200", "610", "1390", "", "U"},
		{"east", "", "", "", "", "", "Q"},
		{"west", "", "", "", "", "too few values", "Q"},
		{"zero", "12.346", "0.012", "12.320", "12.370", "", ""},
	}
	if got := rowsOf(t, files["cash.csv"]); !slices.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("%q", got)
	}
	long := strings.Repeat("a_very_long_name_", 3)
	// A column of the release that is called status keeps its name; a value of 0 has no relative error that is small.
	if got := rowsOf(t, files[long+"1.csv"]); !slices.Equal(got[0], []string{"region", "status", "estimate", "noise_sd", "status_"}) || !slices.Equal(got[1], []string{"a", "x", "547.0", "2.8", ""}) || got[2][4] != "Q" {
		t.Errorf("%q", got)
	}
	if got := rowsOf(t, files[long+"2.csv"]); !slices.Equal(got[1], []string{"661.4687", ""}) {
		t.Errorf("%q", got)
	}
	// A coefficient near zero is no unreliable one: models have no marks.
	if got := rowsOf(t, files["fit.csv"]); !slices.Equal(got[1], []string{"coefficient", "age", "0.1235", "0.0051"}) || !slices.Equal(got[2], []string{"fit", "rows", "1234.5", ""}) {
		t.Errorf("%q", got)
	}
	// No text is a formula, wherever it comes from; numbers stay numbers.
	files, _ = write(t, Rules{}, func(r *report.Report) { r.Releases[0].Where = "-pay > 0" })
	if got := rowsOf(t, files["_tables.csv"]); got[1][5] != "'-pay > 0" {
		t.Errorf("%q", got)
	}
	// Without rules nothing is marked but what the release leaves out itself.
	files, _ = write(t, Rules{}, nil)
	if got := rowsOf(t, files["cash.csv"]); got[3][1] != "-400" || got[3][6] != "" || got[4][6] != "Q" {
		t.Errorf("%q", got)
	}
}

// The rules read released values and public facts alone: what stands in for a private one changes no mark. The twin, which judges by
// another number, differs.
func TestRulesReadNoisyValues(t *testing.T) {
	r, values := made()
	rows, _ := r.Releases[0].Rows(values["cash"])
	rules := Rules{Flag: 0.15, Blank: 0.3}
	for i, row := range rows {
		var want string
		estimate, sd := values["cash"].Columns[1].Float64[i], values["cash"].Columns[2].Float64[i]
		switch blank := values["cash"].Columns[1].Blank[i]; {
		case blank || sd/math.Abs(estimate) > 0.3:
			want = Suppressed
		case sd/math.Abs(estimate) > 0.15:
			want = Unreliable
		}
		if got := rules.mark(row); got != want {
			t.Errorf("row %d: %q, not %q", i, got, want)
		}
		row.Relative *= 10
		if i == 1 && rules.mark(row) == want {
			t.Error("the twin has the same mark")
		}
	}
}

// A sampled release without an interval is judged by its noise alone, and the legend says so; with one, by the interval.
func TestSampled(t *testing.T) {
	files, _ := write(t, Rules{Flag: 0.15}, nil)
	long := strings.Repeat("a_very_long_name_", 3)
	if text := string(files[long+"1.csv-metadata.json"]); !strings.Contains(text, "without the error of sampling") {
		t.Error(text)
	}
	if text := string(files["cash.csv-metadata.json"]); strings.Contains(text, "without the error of sampling") {
		t.Error(text)
	}
	e := report.Release{Name: "s", From: "half", Interval: "90"}
	rows, alone := e.Rows(report.Table{Columns: []report.Column{{Name: "estimate", Float64: []float64{100}}, {Name: "noise_sd", Float64: []float64{1}},
		{Name: "interval_low", Float64: []float64{100 - 16.4485}}, {Name: "interval_high", Float64: []float64{100 + 16.4485}}}})
	if alone || math.Abs(rows[0].Error-10) > 1e-3 || math.Abs(rows[0].Relative-0.1) > 1e-5 {
		t.Errorf("%v %v", rows, alone)
	}
}

// The same run gives the same bytes, and a workbook has no time.
func TestReproducible(t *testing.T) {
	a, _ := write(t, Rules{Flag: 0.15}, nil)
	b, _ := write(t, Rules{Flag: 0.15}, nil)
	c, _ := write(t, Rules{Flag: 0.25}, nil)
	if len(a) != 14 {
		t.Errorf("%d files", len(a))
	}
	for name := range a {
		if !bytes.Equal(a[name], b[name]) {
			t.Errorf("%s differs", name)
		}
	}
	if bytes.Equal(a["tables.xlsx"], c["tables.xlsx"]) {
		t.Error("other rules give the same workbook")
	}
	for _, name := range []string{"tables.xlsx"} {
		z, err := zip.NewReader(bytes.NewReader(a[name]), int64(len(a[name])))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range z.File {
			if y := f.Modified.Year(); y > 1980 {
				t.Errorf("%s: %s is of %d", name, f.Name, y)
			}
		}
	}
}

// A German publication is German.
func TestLanguages(t *testing.T) {
	files, _ := write(t, Rules{Flag: 0.15}, func(r *report.Report) {
		r.Publication.Language, r.Releases[0].Fields[0].Doc = "de", "which group the row is about"
	})
	if text := string(files["cash.csv-metadata.json"]); !strings.Contains(text, "nicht verlässlich") || !strings.Contains(text, "Quelle: Office.") || strings.Contains(text, "leaves meaningful") ||
		!strings.Contains(text, "um welche Gruppe es in der Zeile geht") {
		t.Error(text)
	}
	if !strings.Contains(string(files["dcat.jsonld"]), "authority/language/DEU") {
		t.Error("the record is not German")
	}
	// A run that says nothing of its publication is published too.
	files, _ = write(t, Rules{}, func(r *report.Report) { r.Publication = nil })
	if text := string(files["dcat.jsonld"]); !strings.Contains(text, `"made"`) || strings.Contains(text, "publisher") {
		t.Error(text)
	}
}

// The dictionary holds what the job says of the private columns, and the list the guarantee of each table.
func TestDictionary(t *testing.T) {
	files, _ := write(t, Rules{}, nil)
	rows := rowsOf(t, files["_dictionary.csv"])
	for _, want := range [][]string{
		{"cash", "estimate", "published", "float64", "about estimate", "", "", "", "", ""},
		{"cash", "pay", "source", "float64", "", "0", "60000", "public", "drop", ""},
		{"cash", "sex", "source", "string", "", "", "", "", "", "as other"},
	} {
		if !slices.ContainsFunc(rows, func(row []string) bool { return slices.Equal(row, want) }) {
			t.Errorf("%q is not in %q", want, rows)
		}
	}
	list := rowsOf(t, files["_tables.csv"])
	if list[1][9] != "6" || !strings.Contains(list[1][10], "At most") && !strings.Contains(list[1][10], "at most") || list[5][1] != "" {
		t.Errorf("%q", list)
	}
}

func TestSheetNames(t *testing.T) {
	all := []table{{name: strings.Repeat("ü", 40) + "a"}, {name: strings.Repeat("Ü", 40) + "b"}, {name: strings.Repeat("ü", 31)}}
	nameSheets(all)
	seen := map[string]bool{}
	for _, x := range all {
		if utf8.RuneCountInString(x.sheet) > 31 || seen[strings.ToLower(x.sheet)] {
			t.Errorf("%q", x.sheet)
		}
		seen[strings.ToLower(x.sheet)] = true
	}
	for k, want := range map[int]string{0: "A", 25: "Z", 26: "AA", 701: "ZZ", 702: "AAA"} {
		if letters(k) != want {
			t.Errorf("%d: %s, not %s", k, letters(k), want)
		}
	}
}

// Readers that others wrote take the CSV files by their metadata, and the DCAT record. They refuse broken ones.
func TestReadByOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("the fast tier starts no Node")
	}
	node, err := exec.LookPath("node")
	if _, gone := os.Stat("validate/node_modules"); err != nil || gone != nil {
		t.Skip("node, or npm ci in publish/tables/validate, is missing: the metadata is read by no other program")
	}
	check := func(dir string) (out struct {
		Cells, Statements int
		Problems          []string
	}) {
		text, err := exec.Command(node, "validate/check.mjs", dir).Output()
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	_, dir := write(t, Rules{Flag: 0.15}, nil)
	if got := check(dir); len(got.Problems) > 0 || got.Cells < 100 || got.Statements < 80 {
		t.Errorf("%+v", got)
	}
	for name, change := range map[string][2]string{"dcat.jsonld": {"dcat:byteSize", "dcat:bytesize"}, "cash.csv": {"12.346", "twelve"}, "cash.csv-metadata.json": {`"tableSchema"`, `"schemaOfTable"`}} {
		_, dir := write(t, Rules{Flag: 0.15}, nil)
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), bytes.Replace(text, []byte(change[0]), []byte(change[1]), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := check(dir); len(got.Problems) == 0 {
			t.Errorf("a broken %s is taken", name)
		}
	}
}

// Each sheet of six short tables is printed on a page of its own, with its notes. Without a print area and a width the notes alone
// took pages beside pages.
func TestPrintedWorkbook(t *testing.T) {
	if testing.Short() {
		t.Skip("the fast tier starts no LibreOffice")
	}
	office, err := exec.LookPath("soffice")
	if err != nil {
		t.Skip("LibreOffice is missing: the workbooks are printed by no other program")
	}
	_, dir := write(t, Rules{Flag: 0.15}, nil)
	out := t.TempDir()
	cmd := exec.Command(office, "-env:UserInstallation=file://"+t.TempDir(), "--headless", "--convert-to", "pdf", "--outdir", out, filepath.Join(dir, "tables.xlsx"))
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	pdf, err := os.ReadFile(filepath.Join(out, "tables.pdf"))
	if err != nil {
		t.Fatal(err)
	}
	if pages := len(regexp.MustCompile(`/Type\s*/Page[^s]`).FindAll(pdf, -1)); pages != 6 {
		t.Errorf("six sheets are printed on %d pages", pages)
	}
}

// LibreOffice opens the workbook, and finds a sheet for each table with the values of its CSV file as numbers.
func TestLibreOffice(t *testing.T) {
	if testing.Short() {
		t.Skip("the fast tier starts no LibreOffice")
	}
	office, err := exec.LookPath("soffice")
	if err != nil {
		t.Skip("LibreOffice is missing: the workbooks are opened by no other program")
	}
	files, dir := write(t, Rules{Flag: 0.15}, nil)
	for _, name := range []string{"tables.xlsx"} {
		out := t.TempDir()
		// One CSV file for each sheet (-1), in UTF-8 (76), cells as they are and not as they are shown.
		cmd := exec.Command(office, "-env:UserInstallation=file://"+t.TempDir(), "--headless", "--convert-to", "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,false,false,-1", "--outdir", out, filepath.Join(dir, name))
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		sheets, _ := filepath.Glob(filepath.Join(out, "*.csv"))
		if len(sheets) != 6 {
			t.Errorf("%s: %d sheets: %q", name, len(sheets), sheets)
		}
		text, err := os.ReadFile(filepath.Join(out, "tables-cash.csv"))
		if err != nil {
			t.Fatal(err)
		}
		r := csv.NewReader(bytes.NewReader(text))
		rows, err := r.ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if rows[0][0] != "cash by region, 2025" {
			t.Errorf("%s: %q", name, rows[0])
		}
		for i, want := range rowsOf(t, files["cash.csv"]) {
			got := rows[2+i]
			for k := range want {
				cell := strings.TrimPrefix(strings.ReplaceAll(want[k], "\x01", "\uFFFD"), "'") // a sheet holds no formulas
				if strings.Contains(cell, ".") && k > 0 {
					cell = strings.TrimRight(cell, "0")
				}
				if got[k] != cell {
					t.Errorf("%s: row %d has %q, not %q", name, i, got, want)
					break
				}
			}
		}
		if notes := string(text[len(text)/2:]); !strings.Contains(notes, "Source: Office.") {
			t.Errorf("%s has no notes: %s", name, notes)
		}
	}
}

// A table costs what its release and the selection of its groups cost, and a mark of the host stands with those of the rules.
func TestPriceAndMarks(t *testing.T) {
	files, _ := write(t, Rules{Flag: 0.1}, func(r *report.Report) {
		r.Releases[1].Limits = &report.Limits{Status: "status", Ends: report.EndsLower, Marks: []string{"cap"}}
	})
	for _, row := range rowsOf(t, files["_tables.csv"]) {
		if strings.HasSuffix(row[0], "2") && (row[6] != "0.6" || row[7] != "1e-6") {
			t.Errorf("%q", row)
		}
	}
	for name, content := range files {
		if !strings.HasSuffix(name, "_1.csv") {
			continue
		}
		if rows := rowsOf(t, content); len(rows[0]) != 4 || rows[2][1] != "U y" {
			t.Errorf("%q", rows)
		}
	}
}
