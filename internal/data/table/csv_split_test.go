package table

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// Cut anywhere between two records, a text is parsed as if it were in one piece: the same records up to the same first
// mistake, at the same place.
func TestSplitter(t *testing.T) {
	for seed := range tier.Of[uint64](500, 4000) {
		r := rand.New(rand.NewPCG(seed, 2))
		text := make([]byte, r.IntN(120))
		for i := range text {
			const letters = "ab,,\"\"\"\n\n\n\r"
			text[i] = letters[r.IntN(len(letters))]
		}
		checkSplit(t, text, 1+r.IntN(30))
	}
}

// No text makes opening or scanning panic; all rows come out, or an Error.
func FuzzCSV(f *testing.F) {
	f.Add([]byte("a,b\n1,\"x\ny\"\n"), ",")
	f.Add([]byte("\xef\xbb\xbfa;b\r\n1,5;2024-02-29\r\n\r\n;\r\n"), ";")
	f.Add(packed([]byte("a|b\n1|2\n")), "|")
	f.Fuzz(func(t *testing.T, text []byte, delimiter string) {
		path := temp(t, "t.csv", text)
		spec := Spec{Path: path, Format: FormatCSV, CSV: CSV{Kinds: map[string]Kind{"a": Float, "b": Date}, Missing: []string{delimiter}}}
		for _, r := range delimiter {
			spec.CSV.Delimiter = r
		}
		tab, err := Open(t.Context(), spec)
		if onlyOurs(err) != nil {
			t.Fatal(err)
		}
		if err != nil {
			return
		}
		defer tab.Close()
		if cells, _ := scanCSV(t, tab, ScanOptions{Columns: tab.Usable()}); len(tab.Usable()) > 0 && int64(len(cells)) != tab.Rows() {
			t.Fatalf("%d rows of %d", len(cells), tab.Rows())
		}
		must(tab.Fingerprint(t.Context(), tab.Usable(), Key{}))
	})
}

func FuzzSplitter(f *testing.F) {
	f.Add([]byte("a,b\n\"c\nd\",\"\"\n"), uint8(3))
	f.Add([]byte("a,\"b\n\"c\nd\",\"\"\n\n\r\n"), uint8(1))
	f.Fuzz(func(t *testing.T, text []byte, size uint8) { checkSplit(t, text, 1+int(size)) })
}

// checkRows compares the rows of a text with those of encoding/csv.
func checkRows(t *testing.T, text []byte, columns int) {
	t.Helper()
	f := &csvFile{CSV: CSV{Delimiter: ','}, cols: make([]Column, columns)}
	var got, want []string
	wrong := f.rows(text, func(fields []string) error { got = append(got, fmt.Sprintf("%q", fields)); return nil })
	r := f.records(text)
	for {
		fields, err := r.Read()
		if err == nil {
			want = append(want, fmt.Sprintf("%q", fields))
			continue
		}
		if err == io.EOF {
			err = nil
		}
		if fmt.Sprint(err) != fmt.Sprint(wrong) || !slices.Equal(got, want) {
			t.Fatalf("%q in %d columns: %q %v, want %q %v", text, columns, got, wrong, want, err)
		}
		return
	}
}

func checkSplit(t *testing.T, text []byte, size int) {
	t.Helper()
	checkRows(t, text, 1+size%3)
	checkRows(t, bytes.ReplaceAll(text, quote, nil), 1+size%3)
	parse := func(text []byte, line int) (records []string, wrong string) {
		c := csv.NewReader(bytes.NewReader(text))
		c.FieldsPerRecord = -1
		for {
			fields, err := c.Read()
			var p *csv.ParseError
			switch {
			case err == io.EOF:
				return records, ""
			case errors.As(err, &p):
				return records, fmt.Sprint(p.Line+line, p.Column, p.Err)
			}
			records = append(records, fmt.Sprintf("%q", fields))
		}
	}
	want, wrong := parse(text, 0)
	s := &splitter{r: bytes.NewReader(text), size: size}
	var got []string
	var all []byte
	found := ""
	for {
		run, err := s.next(nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(run) == 0 {
			break
		}
		if found == "" {
			var records []string
			records, found = parse(run, bytes.Count(all, newline))
			got = append(got, records...)
		}
		all = append(all, run...)
	}
	if !bytes.Equal(all, text) || !slices.Equal(got, want) || found != wrong {
		t.Fatalf("%q in runs of %d: %q %s, want %q %s", text, size, got, found, want, wrong)
	}
}

// repeating is a text without an end.
type repeating string

func (r repeating) Read(b []byte) (int, error) { return copy(b, r), nil }

// A record without an end is refused after what the longest may have, whatever a packed file goes on with.
func TestSplitterEnds(t *testing.T) {
	f := &csvFile{}
	for text, want := range map[string]string{
		"secret":   ":3:1: a row has more than 16 MB",
		"\"secret": ":3:1: a quote that is opened here is not closed within 16 MB",
	} {
		s := &splitter{r: io.MultiReader(strings.NewReader("a\n1\n"+text), repeating(strings.TrimPrefix(text, `"`))), long: f.long}
		var err error
		for err == nil {
			_, err = s.next(nil)
		}
		if err.Error() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzNumber: a number without an exponent is that of strconv, to the last bit.
func FuzzNumber(f *testing.F) {
	for _, text := range []string{"", "-", "+.", ".", "-0", "1.", ".5", "9007199254740993", "0.1", "9999999999999999999", "18446744073709551615",
		"12345678901234567890", "1.8446744073709551615", ".0000000000000000001", "5000000000000000.5", "1e5", "1.2.3",
		"12345678", "1234567:", "/2345678", "1234.5678", "12345678.12345678", "1234567\u00b2"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { checkNumber(t, text) })
}

func checkNumber(t *testing.T, text string) {
	t.Helper()
	got, ok := plainNumber(text)
	want, err := strconv.ParseFloat(text, 64)
	if ok && (err != nil || math.Float64bits(got) != math.Float64bits(want)) {
		t.Fatalf("%q is read as %v, want %v, %v", text, got, want, err)
	}
	if plain := strings.Trim(strings.TrimLeft(text, "-+"), "0123456789."); err == nil && plain == "" && len(text) < 20 && !ok {
		t.Fatalf("%q is not read", text)
	}
}

// Most numbers here lie near the middle between two float64s, where rounding twice would show.
func TestNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range tier.Of(300_000, 3_000_000) {
		text := strconv.FormatUint(r.Uint64()>>r.IntN(64), 10)
		if r.IntN(2) == 0 {
			text = strconv.FormatUint((r.Uint64()>>11|1<<52)<<r.IntN(11)+uint64(1)<<r.IntN(11)+uint64(r.IntN(3))-1, 10)
		}
		if k := r.IntN(len(text) + 4); k < len(text) {
			text = text[:k] + "." + text[k:]
		}
		checkNumber(t, []string{"", "-", "+"}[r.IntN(3)]+text)
	}
}
