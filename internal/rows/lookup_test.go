package rows

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/rows/formula"
)

func fileOf(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "zones.csv")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func float(x float64) *float64 { return &x }

var zones = []LookupColumn{
	{Column: formula.Column{Name: "borough", Type: formula.Text, Domain: []string{"Bronx", "Queens"}}},
	{Column: formula.Column{Name: "area", Type: formula.Number, Lower: float(0), Upper: float(500)}, Heading: "km2"},
}

func TestLookup(t *testing.T) {
	number, text := formula.Column{Name: "zone", Type: formula.Number}, formula.Column{Name: "zone", Type: formula.Text}
	content := "\uFEFFname,zone,km2,borough\r\n\"Airport, \"\"new\"\"\nwing\",1,10.5,Queens\r\nPark,2,,Bronx\r\nnowhere,-3.50,7,\r\n"
	for _, on := range []formula.Column{number, text} {
		l, problems := ReadLookup(LookupSpec{Path: fileOf(t, content), Key: "zone", On: on, Columns: zones})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		p, err := NewProgram(Spec{Columns: []formula.Column{on}, Lookups: []*Lookup{l}, Outputs: []string{"area", "borough"},
			Conditions: []*formula.Formula{must(t, "borough == 'Queens' && area > 10", l.Columns())}})
		if err != nil {
			t.Fatal(err)
		}
		v := table.Values{Kind: table.Float, Float64: []float64{1, 2, -3.5, 9, nan}}
		if on.Type == formula.Text {
			v = table.Values{Kind: table.String, Codes: []int32{0, 1, 2, 3, -1}, Dict: []string{"1", "2", "-3.50", "9"}}
		}
		got := p.Evaluator().Eval([]table.Values{v}, 5)
		var lines []string
		for i := range 5 {
			lines = append(lines, rowText(&got.Columns[0], formula.Number, i)+rowText(&got.Columns[1], formula.Text, i))
		}
		want := []string{`true 10.5 "" 0; true 0 "Queens" 0; `, `false 0 "" 0; true 0 "Bronx" 0; `, `true 7 "" 0; false 0 "" 0; `, `false 0 "" 0; false 0 "" 0; `, `false 0 "" 0; false 0 "" 0; `}
		if !slices.Equal(lines, want) || got.Masks[0][0] != 1 {
			t.Errorf("%s: got %q, mask %b", on.Type, lines, got.Masks[0])
		}
		if want := fmt.Sprintf("%x", sha256.Sum256([]byte(content))); l.SHA256() != want {
			t.Errorf("digest %s, want %s", l.SHA256(), want)
		}
	}
	// A text without a domain has those of the file.
	l, problems := ReadLookup(LookupSpec{Path: fileOf(t, "zone,borough\n1,b\n2,a\n3,b\n4,\n"), Key: "zone", On: number, Columns: []LookupColumn{{Column: formula.Column{Name: "borough", Type: formula.Text}}}})
	if len(problems) > 0 || !slices.Equal(l.Columns()[0].Domain, []string{"b", "a"}) {
		t.Errorf("%v, %v", problems, l)
	}
}

// What is wrong with a public file is told with its line and column.
func TestLookupProblems(t *testing.T) {
	head := "zone,km2,borough\n"
	for content, want := range map[string]string{
		"":                                 ": is empty (write a line with the headings, and one for each key)",
		"\uFEFF\n":                         ": is empty (write a line with the headings, and one for each key)",
		"zone;km2;borough\n1;2;Bronx\n":    `:1:1: has no column "zone" (separate the fields with commas)`,
		"zon,km2,borough\n":                `:1:1: has no column "zone" (one of its headings is similar)`,
		"zone,km2,zone,borough\n":          `:1:10: has a second column "zone"`,
		head + "1,2\n":                     ":2:1: has 2 fields, and the first line has 3 (put a value that holds a comma in quotes)",
		head + "1,2,\"Bronx\n":             `:2:12: is not CSV: extraneous or missing " in quoted-field`,
		head + "1,2,Bronx\n1,3,Queens\n":   `:3:1: the key is given twice (first in line 2)`,
		head + "1,2,Bronx\n1.0,3,Queens\n": `:3:1: the key is given twice (first in line 2)`,
		head + ",2,Bronx\n":                ":2:1: has no key (leave the line out)",
		head + "one,2,Bronx\n":             `:2:1: the key is no number, and "zone" holds numbers`,
		head + "1,\"1,234\",Bronx\n":       `:2:3: is no number, and "area" holds numbers (write numbers without thousands separators, and with a point before the decimals)`,
		head + "1,1 234,Bronx\n":           `:2:3: is no number, and "area" holds numbers (write numbers without spaces and thousands separators)`,
		head + "1,501,Bronx\n":             `:2:3: is outside the bounds of "area"`,
		head + "1,2,Bronks\n":              `:2:5: is not in the domain of "borough" (did you mean Bronx?)`,
		head + "1,2,Br\xffnx\n":            ":2:1: is not UTF-8 (save the file as UTF-8 text)",
	} {
		path := fileOf(t, content)
		l, problems := ReadLookup(LookupSpec{Path: path, Key: "zone", On: formula.Column{Name: "zone", Type: formula.Number}, Columns: zones})
		if l != nil || len(problems) == 0 || strings.TrimPrefix(problems[0].Error(), path) != want {
			t.Errorf("%q: got\n\t%v\nwant\n\t%s", content, problems, want)
		}
	}
	_, problems := ReadLookup(LookupSpec{Path: filepath.Join(t.TempDir(), "none.csv"), Key: "zone", Columns: zones})
	if len(problems) != 1 || !strings.HasSuffix(problems[0].Error(), "none.csv: cannot be opened: no such file or directory") {
		t.Error(problems)
	}
	_, problems = ReadLookup(LookupSpec{Path: t.TempDir(), Key: "zone", Columns: zones})
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), "cannot be opened: is a folder, not a file") {
		t.Error(problems)
	}
	_, problems = ReadLookup(LookupSpec{Path: fileOf(t, head+strings.Repeat("x,y,z\n", 100)), Key: "zone", On: formula.Column{Name: "zone", Type: formula.Number}, Columns: zones})
	if len(problems) != maxLookupProblems {
		t.Errorf("%d problems", len(problems))
	}
	_, problems = ReadLookup(LookupSpec{Path: fileOf(t, strings.Repeat("1,2,3\n", 12<<20)), Key: "zone", Columns: zones})
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), "is larger than 64 MB") {
		t.Error(problems)
	}
}

// No file makes it panic, and a lookup that is read has a value or none for each key.
func FuzzReadLookup(f *testing.F) {
	f.Add("zone,km2,borough\n1,2,Bronx\n")
	f.Add("\uFEFFborough,zone,km2\r\n\"a\nb\",\"1\"\"\",\n")
	f.Add("zone,zone,km2\n\n\n1,,,\n")
	f.Fuzz(func(t *testing.T, content string) {
		for _, on := range []formula.Type{formula.Number, formula.Text} {
			l, problems := ReadLookup(LookupSpec{Path: fileOf(t, content), Key: "zone", On: formula.Column{Name: "zone", Type: on}, Columns: zones})
			if (l == nil) != (len(problems) > 0) {
				t.Fatalf("%v, %v", l, problems)
			}
			if l == nil {
				continue
			}
			for _, line := range l.texts {
				if int(line)+1 >= len(l.columns[0].codes) || int(line)+1 >= len(l.columns[1].numbers) {
					t.Fatalf("line %d of %d", line, len(l.columns[0].codes))
				}
			}
			for _, c := range l.columns[0].codes {
				if c < -1 || int(c) >= len(l.columns[0].dict.all) {
					t.Fatalf("code %d", c)
				}
			}
		}
	})
}
