package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/dprelease/dprelease/internal/testkit/tier"
)

func packed(text []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(text)
	_ = w.Close()
	return b.Bytes()
}

// randomCSV writes cells in one of the many ways in which a CSV file can be written.
func randomCSV(r *rand.Rand, delimiter rune, header []string, rows [][]string) []byte {
	var b bytes.Buffer
	if r.IntN(2) == 0 {
		b.WriteString("\uFEFF")
	}
	end := []string{"\n", "\r\n"}[r.IntN(2)]
	for i, row := range append([][]string{header}, rows...) {
		for k, cell := range row {
			if k > 0 {
				b.WriteRune(delimiter)
			}
			if strings.ContainsAny(cell, "\"\n\r"+string(delimiter)) || r.IntN(5) == 0 || len(row) == 1 && cell == "" {
				cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
			}
			b.WriteString(cell)
		}
		if i < len(rows) || r.IntN(2) == 0 {
			b.WriteString(end)
		}
		for r.IntN(50) == 0 {
			b.WriteString(end) // empty lines are no rows
		}
	}
	return b.Bytes()
}

// csvCell returns the text of a cell as it should be read: "" stands for missing.
func csvCell(t testing.TB, v *Values, i int) string {
	t.Helper()
	switch {
	case v.Null(i):
		if v.Float64 != nil && v.Float64[i] != 0 || v.Int64 != nil && v.Int64[i] != 0 || v.Codes != nil && v.Codes[i] != 0 {
			t.Fatal("the place of a null does not hold zero")
		}
		return ""
	case v.Float64 != nil:
		return fmt.Sprint(v.Float64[i])
	case v.Int64 != nil:
		return fmt.Sprint(v.Int64[i])
	}
	return v.Dict[v.Codes[i]]
}

// scanCSV returns the picked cells of some columns, and how many texts were no values.
func scanCSV(t testing.TB, tab *Table, o ScanOptions) (cells [][]string, unread int) {
	t.Helper()
	err := tab.Scan(context.Background(), o, func(b Batch) error {
		for row := range b.Rows {
			var line []string
			for i := range b.Columns {
				line = append(line, csvCell(t, &b.Columns[i], row))
			}
			cells = append(cells, line)
		}
		for i := range b.Columns {
			unread += b.Columns[i].Unread.Texts
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return cells, unread
}

// However a file is written, packed and picked from, its cells come out in order.
func TestCSVIsReadAsWritten(t *testing.T) {
	texts := []string{"a", "b b", "", "c,d", "e;f", "g\nh", `i"j`, "“ü”", " k ", "\r", `""`, "NA"}
	for seed := range tier.Of[uint64](14, 30) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := r.IntN(300)
		if seed%15 == 0 {
			n = 70_000 + r.IntN(80_000)
		}
		rows := make([][]string, n)
		for i := range rows {
			rows[i] = []string{fmt.Sprint(float64(r.IntN(1000)) / 8), texts[r.IntN(len(texts))], fmt.Sprint(r.IntN(5))}
		}
		delimiter := []rune{',', ';', '\t', '|'}[r.IntN(4)]
		text := randomCSV(r, delimiter, []string{"x", "s", "n"}, rows)
		name := "t.csv"
		if r.IntN(2) == 0 {
			name, text = "t.csv.gz", packed(text)
		}
		spec := Spec{Path: temp(t, name, text), CSV: CSV{Delimiter: delimiter, Kinds: map[string]Kind{"x": Float}}}
		tab := must(Open(t.Context(), spec))
		if tab.Rows() != int64(n) {
			t.Fatalf("seed %d: %d rows, want %d", seed, tab.Rows(), n)
		}
		for _, columns := range [][]int{{0, 1, 2}, {1}, {2, 0}} {
			var names []string
			for _, c := range columns {
				names = append(names, []string{"x", "s", "n"}[c])
			}
			picked := map[int64][]uint32{}
			pick := func(b Block) (Pick, error) {
				for i := range uint32(b.Rows) {
					if r.IntN(1+b.Rows/3) == 0 && b.First%3 != 1 {
						picked[b.First] = append(picked[b.First], i)
					}
				}
				return Pick{Rows: picked[b.First]}, nil
			}
			if r.IntN(3) == 0 {
				pick = nil
			}
			got, unread := scanCSV(t, tab, ScanOptions{Columns: names, Pick: pick, Workers: 1 + r.IntN(4)})
			var want [][]string
			add := func(row []string) {
				var line []string
				for _, c := range columns {
					line = append(line, row[c])
				}
				want = append(want, line)
			}
			for _, b := range tab.Blocks() {
				for _, i := range picked[b.First] {
					add(rows[b.First+int64(i)])
				}
				for i := range int64(b.Rows) {
					if pick == nil {
						add(rows[b.First+i])
					}
				}
			}
			if unread != 0 || !slices.EqualFunc(got, want, slices.Equal[[]string]) {
				t.Fatalf("seed %d, columns %v: %d rows are not the %d that were written", seed, names, len(got), len(want))
			}
		}
		tab.Close()
	}
}

// What a text means in a column of each kind, and what is missing or no value.
func TestCSVKinds(t *testing.T) {
	for _, c := range []struct {
		kind    Kind
		missing []string
		text    map[string]string // what each text is read as: "" missing, "!" no value and so missing
	}{
		{Float, nil, map[string]string{"1": "1", " 1.50\t": "1.5", "-2e3": "-2000", "+.5": "0.5", "": "", "   ": "", "NaN": "", "nan": "",
			"Inf": "+Inf", "-infinity": "-Inf", "1e999": "+Inf", "1e-999": "0",
			"1,5": "!", "1.234,5": "!", "1,000": "!", "1 000": "!", "1'000": "!", "1_000": "!", "0x10": "!", "0x1p4": "!", "12abc": "!", "NA": "!", "١": "!", "--1": "!", "true": "!"}},
		{Float, []string{"NA", "-9"}, map[string]string{"NA": "", "-9": "", " -9 ": "", "-9.0": "-9", "": "!", "na": "!"}},
		{String, nil, map[string]string{"a": "a", " a ": " a ", "": "", "NA": "NA"}},
		{String, []string{"NA", ""}, map[string]string{"NA": "", "": "", "na": "na"}},
		{Bool, nil, map[string]string{"true": "1", "FALSE": "0", "1": "1", "f": "0", "yes": "!", "": ""}},
		{Date, nil, map[string]string{"1970-01-02": "1", " 2024-02-29": "19782", "2023-02-29": "!", "29.02.2024": "!", "": ""}},
		{Timestamp, nil, map[string]string{"1970-01-01T00:00:01": "1000000", "1970-01-01 00:00:00.5": "500000", "1970-01-01T01:00:00+01:00": "0", "1970-01-02": "86400000000",
			"1970-01-01T00:00:00.0000001": "!", "noon": "!"}},
	} {
		for text, want := range c.text {
			quoted := `"` + text + `",x` + "\n"
			tab := must(Open(t.Context(), Spec{Path: temp(t, "t.csv", []byte("v,o\n"+strings.Repeat(quoted, 3))), CSV: CSV{Kinds: map[string]Kind{"v": c.kind}, Missing: c.missing}}))
			cells, unread := scanCSV(t, tab, ScanOptions{Columns: []string{"v"}})
			tab.Close()
			bad := 0
			if want == "!" {
				want, bad = "", 3
			}
			for _, row := range cells {
				if row[0] != want {
					t.Errorf("%v %q is read as %q, want %q", c.kind, text, row[0], want)
				}
			}
			if len(cells) != 3 || unread != bad {
				t.Errorf("%v %q: %d rows, %d that are no value, want 3 and %d", c.kind, text, len(cells), unread, bad)
			}
		}
	}
}

// What is wrong with a file is found before a row is handed out, and told with its line and column and no value.
func TestCSVRefusals(t *testing.T) {
	long := strings.Repeat("secret,1\n", 100_000)
	for name, c := range map[string]struct {
		text, delimiter string
		code, want      string
	}{
		"one field too few":        {"a,b\n1,2\nsecret\n3,4\n", "", CodeCorrupt, `:3:1: the row does not have as many fields as the header; the delimiter is ','`},
		"one field too many":       {"a,b\n1,2\n\n\"x\ny\",secret,4\n", "", CodeCorrupt, ":4:1: the row does not have"},
		"deep in the file":         {"a,b\n" + long + "\"secret\n,1\n" + strings.ReplaceAll(long, "1", `""`), "", CodeCorrupt, ":100002:1: a quote that is opened here is never closed"},
		"the first of two":         {"a,b\n" + long + "secret\n" + long + "\"", "", CodeCorrupt, ":100002:1: the row does not have"},
		"a quote never closed":     {"a,b\n1,\"secret\n3,4\n", "", CodeCorrupt, ":2:3: a quote that is opened here is never closed"},
		"a quote in a field":       {"a,b\n1,sec\"ret\n", "", CodeCorrupt, ":2:6: a quote inside a field that does not begin with one"},
		"text behind a quote":      {"a,b\n1,\"sec\"ret\"\n", "", CodeCorrupt, ":2:7: a quote inside a field in quotes"},
		"not UTF-8":                {"a,b\nüb,2\nüb,sec\xe9ret\n", "", CodeCorrupt, ":3:7: it is not UTF-8 text"},
		"not UTF-8 in the header":  {"a,\xe9\n1,2\n", "", CodeCorrupt, ":1:3: it is not UTF-8 text"},
		"UTF-16 without a mark":    {"a\x00,\x00b\x00\n\x00", "", CodeCorrupt, ":1:2: it is not UTF-8 text"},
		"half of a UTF-16 letter":  {"\xff\xfea\x00,\x00b\x00\n\x00\x00\x00,\x001\x00", "", CodeCorrupt, ":2:1: it is not UTF-8 text"},
		"a zero byte":              {"a,b\n1,2\nse\x00cret,2\n", "", CodeCorrupt, ":3:3: it is not UTF-8 text"},
		"two columns of one name":  {"a, b ,b\n1,2,3\n", "", CodeCorrupt, ":1:7: a column in front of this one has the same name"},
		"the delimiter is another": {"id;age;sex\n1;2,5;m\n", "", CodeUnsupported, `:1:3: the delimiter is ',', and the header holds none but ';': say dataset.source.delimiter`},
		"a comma for a tab":        {"id,age\n1,2\n", "\t", CodeUnsupported, `:1:3: the delimiter is '\t', and the header holds none but ','`},
		"another one, and quotes":  {"\"id\";\"age\"\n1;2,5\n", "", CodeCorrupt, ":1:5: the delimiter is ',', and ';' stands behind a field in quotes"},
		"lines of old Macs":        {"a,b\r1,2\rsecret,4\r", "", CodeUnsupported, ":1:1: its lines end in carriage returns alone"},
		"no header":                {"\uFEFF\r\n\n", "", CodeCorrupt, ":1:1: there is no header"},
		"an empty file":            {"", "", CodeCorrupt, ": the file is empty"},
		"one endless line":         {"a,b\n1," + strings.Repeat("secret", 4<<20), "", CodeLimit, ":2:1: a row has more than 16 MB"},
		"a quote without an end":   {"a,b\n1,2\n3,\"" + strings.Repeat("secret\n", 4<<20), "", CodeLimit, ":3:3: a quote that is opened here is not closed within 16 MB"},
		"an endless header":        {strings.Repeat("secret", 4<<20), "", CodeLimit, ":1:1: a row has more than 16 MB"},
	} {
		for _, file := range []string{"t.csv", "t.csv.gz"} {
			text := []byte(c.text)
			if strings.HasSuffix(file, ".gz") {
				if c.text == "" {
					c.code, c.want = CodeCorrupt, ":1:1: there is no header"
				}
				text = packed(text)
			}
			path := temp(t, file, text)
			spec := Spec{Path: path}
			if c.delimiter != "" {
				spec.CSV.Delimiter = rune(c.delimiter[0])
			}
			tab, err := Open(t.Context(), spec)
			var e *Error
			if !errors.As(err, &e) || e.Code != c.code || !strings.HasPrefix(err.Error(), path+c.want) || strings.Contains(err.Error(), "sec") {
				t.Errorf("%s, %s: %v, want %s", name, file, err, c.want)
			}
			if err == nil {
				tab.Close()
			}
		}
	}
	good := packed([]byte("a,b\n" + long))
	for name, text := range map[string][]byte{"cut short": good[:len(good)-20], "damaged": slices.Concat(good[:len(good)/2], []byte{1, 2, 3, 4, 5}, good[len(good)/2+5:]), "with a tail": append(slices.Clone(good), "tail"...)} {
		if _, err := Open(t.Context(), Spec{Path: temp(t, "t.csv.gz", text)}); err == nil || name != "damaged" && !strings.Contains(err.Error(), "it cannot be unpacked") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if tab, err := Open(t.Context(), Spec{Path: temp(t, "t.csv.gz", append(packed([]byte("a,b\n1,2\n")), packed([]byte("3,4\n"))...))}); err != nil || tab.Rows() != 2 {
		t.Error("two packed parts one after the other are one file:", err)
	} else {
		tab.Close()
	}
}

// A name in quotes may hold a delimiter, and a column without a name is no hindrance.
func TestCSVHeaders(t *testing.T) {
	tab := must(Open(t.Context(), Spec{Path: temp(t, "t.csv", []byte("\"a;b\"\n1\n\n\"\"\n2\n"))}))
	defer tab.Close()
	if cells, _ := scanCSV(t, tab, ScanOptions{Columns: []string{"a;b"}}); fmt.Sprint(cells) != "[[1] [] [2]]" {
		t.Error(cells)
	}
	unnamed := must(Open(t.Context(), Spec{Path: temp(t, "t.csv", []byte(",a, \n0,1,2\n"))}))
	defer unnamed.Close()
	if got := unnamed.Usable(); !slices.Equal(got, []string{"a"}) {
		t.Error(got)
	}
}

// What a pass over a file and a scan allocate does not grow with the file.
func TestCSVMemory(t *testing.T) {
	tier.Full(t, "TestMemoryDoesNotGrowWithTheTable")
	var used []uint64
	for _, rows := range []int{1_000_000, 3_000_000} {
		text := append([]byte("id,x,g\n"), bytes.Repeat([]byte("7,123.4567,north\n1000000,0.5,south\n"), rows/2)...)
		path := temp(t, "t.csv", text)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		tab := must(Open(t.Context(), Spec{Path: path, CSV: CSV{Kinds: map[string]Kind{"x": Float}, Contents: []string{"x"}}}))
		got := 0
		err := tab.Scan(t.Context(), ScanOptions{Columns: []string{"x", "g"}, Workers: 2}, func(b Batch) error { got += b.Rows; return nil })
		runtime.ReadMemStats(&after)
		if tab.Close(); err != nil || got != rows {
			t.Fatal(got, err)
		}
		used = append(used, after.TotalAlloc-before.TotalAlloc)
	}
	if used[0] > 80<<20 || used[1] > used[0]+used[0]/2+8<<20 {
		t.Errorf("allocated %d bytes for a file, %d for one three times as large", used[0], used[1])
	}
}

// A packed file of a few bytes that stands for very many rows, or for one endless row, is refused within little memory.
func TestCSVBombs(t *testing.T) {
	var b bytes.Buffer
	w := must(gzip.NewWriterLevel(&b, 9))
	_, _ = w.Write([]byte("a\n"))
	for range 64 {
		_, _ = w.Write(make([]byte, 1<<20))
	}
	_ = w.Close()
	before := live()
	if _, err := Open(t.Context(), Spec{Path: temp(t, "t.csv.gz", b.Bytes())}); err == nil || !strings.Contains(err.Error(), "a row has more than 16 MB") {
		t.Error(err)
	}
	if after := live(); after > before+8<<20 {
		t.Errorf("%d bytes are still in use", after-before)
	}
	// Rows that need more memory than the scan may take.
	tab := must(Open(t.Context(), Spec{Path: temp(t, "u.csv", []byte("a,b\n"+strings.Repeat(strings.Repeat("x", 3000)+",1\n", 1000))), Memory: 1 << 20}))
	defer tab.Close()
	var e *Error
	if err := tab.Verify(t.Context(), []string{"a"}); !errors.As(err, &e) || e.Code != CodeLimit {
		t.Error(err)
	}
}

// The content of a column is its cells: how they are written and packed, what a job takes them for and what else the
// file holds make no difference.
func TestCSVContent(t *testing.T) {
	print := func(name, text string, o CSV, columns ...string) Fingerprint {
		tab := must(Open(t.Context(), Spec{Path: temp(t, name, []byte(text)), CSV: o}))
		defer tab.Close()
		return must(tab.Fingerprint(t.Context(), columns, Key{1}))
	}
	text := "a,b\n1,2\n,4\n"
	want := print("t.csv", text, CSV{}, "a")
	for name, got := range map[string]Fingerprint{
		"packed":            print("t.csv.gz", string(packed([]byte(text))), CSV{}, "a"),
		"written otherwise": print("t.csv", "\uFEFFb;\"a\"\r\n2;\"1\"\r\n\r\n4;", CSV{Delimiter: ';'}, "a"),
		"read as numbers":   print("t.csv", text, CSV{Kinds: map[string]Kind{"a": Float}, Missing: []string{"1"}}, "a"),
		"another column":    print("t.csv", "a,b\n1,2\n,5\n", CSV{}, "a"),
		"digested later":    print("t.csv", text, CSV{Contents: []string{"b"}}, "a"),
		"packed, later":     print("t.csv.gz", string(packed([]byte(text))), CSV{Contents: []string{}}, "a"),
	} {
		if got != want {
			t.Errorf("%s: another fingerprint", name)
		}
	}
	for name, got := range map[string]Fingerprint{
		"another value": print("t.csv", "a,b\n1,2\n0,4\n", CSV{}, "a"), "another order": print("t.csv", "a,b\n,4\n1,2\n", CSV{}, "a"),
		"another column": print("t.csv", text, CSV{}, "b"), "a row more": print("t.csv", text+"1,1\n", CSV{}, "a"), "both columns": print("t.csv", text, CSV{}, "a", "b"),
		"cells joined": print("t.csv", "a,b\n,2\n1,4\n", CSV{}, "a"),
	} {
		if got == want {
			t.Errorf("%s: the same fingerprint", name)
		}
	}
	// A change behind the back of the time stamp is noticed by whoever reads the block. A column whose cells were kept is that which
	// was checked.
	for _, name := range []string{"t.csv", "t.csv.gz"} {
		pack := func(s string) []byte {
			if name == "t.csv" {
				return []byte(s)
			}
			return packed([]byte(s))
		}
		path := temp(t, name, pack(text))
		info := must(os.Stat(path))
		tab := must(Open(t.Context(), Spec{Path: path, CSV: CSV{Contents: []string{"a"}}}))
		defer tab.Close()
		write(t, path, pack("a,b\n7,2\n,4\n"))
		if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
		var e *Error
		if err := tab.Scan(t.Context(), ScanOptions{Columns: []string{"b"}}, func(Batch) error { return nil }); !errors.As(err, &e) || e.Code != CodeChanged {
			t.Errorf("%s: a scan of a changed file: %v", name, err)
		}
		if err := tab.Scan(t.Context(), ScanOptions{Columns: []string{"a"}}, func(b Batch) error {
			if v := b.Columns[0]; b.Rows != 2 || v.Dict[v.Codes[0]] != "1" {
				t.Errorf("%s: a kept column is not the one that was checked", name)
			}
			return nil
		}); err != nil {
			t.Errorf("%s: a scan of what was kept: %v", name, err)
		}
		if err := tab.Verify(t.Context(), []string{"b"}); !errors.As(err, &e) || e.Code != CodeChanged {
			t.Errorf("%s: a digest of a changed file: %v", name, err)
		}
	}
}

// Cells are kept as long as there is room, and blocks without them are read again: the values are the same.
func TestCSVKept(t *testing.T) {
	const rows = 5*blockRows - 7
	var text strings.Builder
	text.WriteString("x,t\n")
	for i := range rows {
		fmt.Fprintf(&text, "%d,\"a\"\"%d\"\n", i%7, i%3)
	}
	for name, content := range map[string][]byte{"t.csv": []byte(text.String()), "t.csv.gz": packed([]byte(text.String()))} {
		path := temp(t, name, content)
		// The values of a block take 900 KB, and an eighth of the memory is for them.
		for kept, memory := range map[int]int64{0: 1 << 30, 3: 24 << 20, 5: 1 << 30} {
			tab := must(Open(t.Context(), Spec{Path: path, Memory: memory, CSV: CSV{Kinds: map[string]Kind{"x": Float}}}))
			f := tab.files[0].dataFile.(*csvFile)
			have := 0
			for _, b := range f.blocks {
				if kept == 0 {
					b.kept = nil
				}
				if b.kept != nil {
					have++
				}
			}
			if have != kept && !(kept == 3 && have == 2) { // two blocks may be in each other's way
				t.Errorf("%s: %d of %d blocks are kept, want %d", name, have, len(f.blocks), kept)
			}
			row := 0
			err := tab.Scan(t.Context(), ScanOptions{Columns: []string{"t", "x"}}, func(b Batch) error {
				texts, x := b.Columns[0], b.Columns[1].Float64
				for i := range b.Rows {
					if x[i] != float64(row%7) || texts.Dict[texts.Codes[i]] != fmt.Sprintf(`a"%d`, row%3) {
						t.Fatalf("%s, %d blocks kept: row %d is %v, %q", name, kept, row, x[i], texts.Dict[texts.Codes[i]])
					}
					row++
				}
				return nil
			})
			if err != nil || row != rows {
				t.Errorf("%s, %d blocks kept: %d rows, %v", name, kept, row, err)
			}
			tab.Close()
		}
	}
}

// The names of folders are read as what the job says that their columns hold; what is no such value is missing.
func TestFolderKinds(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"day=2024-02-29/m=07/at=1%2E5/c=1", "day=soon/m=x/at=__HIVE_DEFAULT_PARTITION__/c=2"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		oneColumn(t, filepath.Join(dir, name, "a.parquet"), 7)
	}
	for _, c := range []struct {
		kinds map[string]Kind
		want  string
	}{
		{nil, "[[2024-02-29 07 1.5 1] [soon x  2]]"},
		{map[string]Kind{"day": Date, "m": Float, "at": Float, "c": String}, "[[19782 7 1.5 1] [   2]]"},
	} {
		tab := must(Open(t.Context(), Spec{Path: dir, CSV: CSV{Kinds: c.kinds}}))
		cells, _ := scanCSV(t, tab, ScanOptions{Columns: []string{"day", "m", "at", "c"}})
		if got := fmt.Sprint(cells); got != c.want {
			t.Errorf("%v: %s, want %s", c.kinds, got, c.want)
		}
		if k := tab.columns[len(tab.columns)-1]; (k.Kind == String) != (c.kinds != nil) {
			t.Errorf("column %+v", k)
		}
		tab.Close()
	}
}

// Folders hold CSV files where they hold no others; many files are one table, whatever the order of their columns.
func TestCSVFolders(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	write(t, in("some/b.csv"), []byte("n,x\nb,3\n"))
	write(t, in("some/a.csv.gz"), packed([]byte("x,n\n1,a\n2,b\n")))
	write(t, in("some/deep/c.CSV"), []byte("x,n\n4,a\n"))
	write(t, in("some/_old/d.csv"), []byte("x,n\n9,a\n"))
	write(t, in("some/notes.txt"), []byte("x"))
	oneColumn(t, in("mixed/a.parquet"), 7)
	write(t, in("mixed/codes.csv"), []byte("x\n8\n"))
	write(t, in("keys/year=2024/a.csv"), []byte("x\n1\n"))
	write(t, in("keys/year=2025/a.csv"), []byte("x\n2\n"))
	write(t, in("other/a.csv"), []byte("x,n\n1,a\n"))
	write(t, in("other/b.csv"), []byte("y,n\n1,a\n"))
	write(t, in("table"), []byte("x,n\n1,a\n"))
	read := func(path, format string, columns ...string) string {
		tab, err := Open(t.Context(), Spec{Path: path, Format: format, CSV: CSV{Kinds: map[string]Kind{"x": Float}}})
		if err != nil {
			return err.Error()
		}
		defer tab.Close()
		if _, err := tab.find(columns); err != nil {
			return err.Error()
		}
		cells, _ := scanCSV(t, tab, ScanOptions{Columns: columns})
		return fmt.Sprint(cells)
	}
	for _, c := range []struct {
		path, format string
		columns      []string
		want         string
	}{
		{"some", "", []string{"x", "n"}, "[[1 a] [2 b] [3 b] [4 a]]"},
		{"some/**", "", []string{"n"}, "notes.txt: an arrow file where csv files were expected"},
		{"some/**/*.csv*", "csv", []string{"x"}, "[[1] [2] [3]]"},
		{"some/*.csv", "", []string{"x"}, "[[3]]"},
		{"some/[ab]*", "", []string{"x"}, "[[1] [2] [3]]"},
		{"some/[bd]*", "csv", []string{"x"}, "the pattern matches a folder that holds tables: end it with *.csv"},
		{"mixed", "", []string{"x"}, "[[7]]"},
		{"mixed", "csv", []string{"x"}, "[[8]]"},
		{"mixed/*", "", []string{"x"}, "mixed/codes.csv"},
		{"keys", "", []string{"x", "year"}, "[[1 2024] [2 2025]]"},
		{"keys", "", []string{"year", "x"}, "[[2024 1] [2025 2]]"},
		{"other", "", []string{"n"}, "[[a] [a]]"},
		{"other", "", []string{"x"}, "column x cannot be used: it is not in"},
		{"table", "csv", []string{"x"}, "[[1]]"},
		{"table", "", []string{"x"}, "its name does not end in .csv or .csv.gz; if it is a csv file, say its dataset.source.delimiter"},
		{"mixed", "parquet", []string{"x"}, "[[7]]"},
		{"other", "parquet", []string{"x"}, "the directory holds no parquet, arrow or csv file"},
	} {
		if got := read(in(c.path), c.format, c.columns...); !strings.Contains(got, c.want) {
			t.Errorf("%s as %q: %s, want %s", c.path, c.format, got, c.want)
		}
	}
}

// Schema depends on the header and the names of files alone.
func TestSchemaReadsNoRow(t *testing.T) {
	tab := temp(t, "t.csv", []byte("a,b\n1,\xff\"2\n,,,\n"))
	if got := must(Schema(t.Context(), Spec{Path: tab})); len(got) != 2 || got[0].Name != "a" || got[1].Kind != String || !got[1].Text {
		t.Errorf("%+v", got)
	}
	dir := t.TempDir()
	for _, year := range []string{"1", "02"} {
		write(t, filepath.Join(dir, "year="+year, "t.csv"), []byte("a\n1\n"))
		got := must(Schema(t.Context(), Spec{Path: dir}))
		if len(got) != 2 || got[1].Name != "year" || got[1].Usable || got[1].Reason != "it stands in the names of folders" {
			t.Errorf("%+v", got)
		}
	}
}

func TestParseNumberIsFinal(t *testing.T) {
	for range 10_000 {
		f := math.Float64frombits(rand.Uint64())
		if got, ok := parseNumber(fmt.Sprint(f)); !ok || got != f && !(got != got && f != f) {
			t.Fatalf("%v is read as %v", f, got)
		}
	}
}
