package table

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
)

// Numbers of a locale are read as written, and a number of another locale is none: a point that separates thousands never becomes a decimal one.
func TestLocaleNumbers(t *testing.T) {
	german, swiss, french, english := Locale{Decimal: ",", Thousands: "."}, Locale{Thousands: "'"}, Locale{Decimal: ",", Thousands: " "}, Locale{Thousands: ","}
	for _, c := range []struct {
		l    Locale
		text string
		want float64 // NaN for none
	}{
		{german, "1.234.567,89", 1234567.89}, {german, "-1.234,5", -1234.5}, {german, "1234,5", 1234.5}, {german, ",5", .5}, {german, "12", 12}, {german, "+3,0", 3}, {german, "1,5e3", 1500},
		{german, "1.5", math.NaN()}, {german, "1.2345", math.NaN()}, {german, "12.34.567", math.NaN()}, {german, ".123", math.NaN()}, {german, "1.234.", math.NaN()}, {german, "1234.567", math.NaN()},
		{german, "1,234.5", math.NaN()}, {german, "1,2,3", math.NaN()}, {german, "", math.NaN()}, {german, "-", math.NaN()}, {german, "1.23a", math.NaN()}, {german, "a.234", math.NaN()}, {german, "0x1.000", math.NaN()},
		{Locale{Decimal: ","}, "1.5", math.NaN()}, {Locale{Decimal: ","}, "1,5", 1.5}, {Locale{Decimal: ","}, "1,5.5", math.NaN()},
		{swiss, "1'234.5", 1234.5}, {swiss, "1’234.5", 1234.5}, {swiss, "1,5", math.NaN()},
		{french, "1 234,5", 1234.5}, {french, "1\u202f234\u00a0567", 1234567}, {french, "1  234", math.NaN()},
		{english, "1,234.5", 1234.5}, {english, "1,5", math.NaN()}, {english, "1234,5", math.NaN()}, {english, "1.5,000", math.NaN()}, {german, "inf", math.Inf(1)},
	} {
		var buf []byte
		got := math.NaN()
		if text, ok := c.l.plain(Float, c.text, &buf); ok {
			if x, ok := parseNumber(text); ok {
				got = x
			}
		}
		if got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%+v: %q is %v, not %v", c.l, c.text, got, c.want)
		}
	}
	// Whatever number is written in a locale is read back.
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		x := math.Round(r.NormFloat64()*math.Pow10(r.IntN(10))*100) / 100
		text := strconv.FormatFloat(x, 'f', 2, 64)
		whole, fraction, _ := strings.Cut(text, ".")
		sign := ""
		if whole[0] == '-' {
			sign, whole = "-", whole[1:]
		}
		for i := len(whole) - 3; i > 0; i -= 3 {
			whole = whole[:i] + "." + whole[i:]
		}
		var buf []byte
		plain, ok := german.plain(Float, sign+whole+","+fraction, &buf)
		if got, _ := parseNumber(plain); !ok || got != x {
			t.Fatalf("%s%s,%s is %v, not %v", sign, whole, fraction, got, x)
		}
	}
}

func TestLocaleDays(t *testing.T) {
	for _, form := range DateForms {
		l := Locale{Dates: form}
		// The form itself is the second of January 2006.
		if got, ok := l.plain(Date, form, nil); !ok || got != "2006-01-02" {
			t.Errorf("%s: %q", form, got)
		}
		if got, ok := l.plain(Timestamp, form+" 12:30:00", nil); !ok || got != "2006-01-02 12:30:00" {
			t.Errorf("%s: %q", form, got)
		}
		if got, ok := l.plain(Date, "2024-13-45", nil); ok {
			t.Errorf("%s takes a day that is none: %q", form, got)
		}
	}
	l := Locale{Dates: "2.1.2006"}
	if got, ok := l.plain(Date, "05.11.2024", nil); !ok || got != "2024-11-05" {
		t.Error(got, ok)
	}
	if got, ok := (&Locale{Dates: "02.01.2006"}).plain(Date, "31.02.2024", nil); ok {
		t.Error(got)
	}
}

// encodedFiles are one table in every encoding that is read, packed and not.
func encodedFiles() map[string][]byte {
	const text = "näme;wert\nBärbel;1,5\nZoë;2,5\n"
	wide := func(order binary.AppendByteOrder, mark bool) []byte {
		var out []byte
		if mark {
			out = order.AppendUint16(out, 0xfeff)
		}
		for _, u := range utf16.Encode([]rune(text)) {
			out = order.AppendUint16(out, u)
		}
		return out
	}
	var latin []byte
	for _, r := range text {
		latin = append(latin, byte(r))
	}
	return map[string][]byte{"": []byte(text), "marked": []byte("\ufeff" + text), "latin1": latin, "iso-8859-15": latin, "windows-1252": latin, "little": wide(binary.LittleEndian, true), "big": wide(binary.BigEndian, true)}
}

// A table is the same in every encoding: its values and the digests of its columns.
func TestEncodings(t *testing.T) {
	want := ""
	for name, text := range encodedFiles() {
		for _, packed := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), "t.csv")
			content := text
			if packed {
				var b bytes.Buffer
				w := gzip.NewWriter(&b)
				w.Write(text)
				w.Close()
				content, path = b.Bytes(), path+".gz"
			}
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			said := ""
			if strings.ContainsRune(name, '1') {
				said = name
			}
			tab, err := Open(context.Background(), Spec{Path: path, CSV: CSV{Delimiter: ';', Encoding: said, Locale: Locale{Decimal: ","}, Kinds: map[string]Kind{"wert": Float}}})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got := ""
			err = tab.Scan(context.Background(), ScanOptions{Columns: []string{"näme", "wert"}, Workers: 1}, func(b Batch) error {
				for i := range b.Columns[0].Codes {
					got += fmt.Sprint(b.Columns[0].Dict[b.Columns[0].Codes[i]], " ", b.Columns[1].Float64[i], "; ")
				}
				return nil
			})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, f := range tab.files {
				got += f.storage(0) + f.storage(1)
			}
			tab.Close()
			if want == "" {
				want = got
			}
			if got != want || !strings.HasPrefix(got, "Bärbel 1.5; Zoë 2.5; ") {
				t.Errorf("%s, packed %v: %s", name, packed, got)
			}
		}
	}
}

// What a first look finds out of a heading, and where it says that it cannot tell. No name of a column is in an error.
func TestFound(t *testing.T) {
	latin := encodedFiles()["latin1"]
	for text, want := range map[string]Found{
		"a,b\n1;2,3\n": {}, "a;b\n": {Delimiter: ';'}, "a\tb\n": {Delimiter: '\t'}, "\ufeffa|b": {Delimiter: '|'}, "one\n1;2\n": {}, "\"x, y\";z\n1,1\n": {Delimiter: ';'},
		string(latin): {Delimiter: ';', Encoding: "latin1"}, string(encodedFiles()["little"]): {Delimiter: ';'},
	} {
		path := filepath.Join(t.TempDir(), "t.csv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var got Found
		columns, err := Schema(context.Background(), Spec{Path: path, CSV: CSV{Found: &got}})
		if err != nil || got != want || len(columns) != 2 && !strings.HasPrefix(text, "one") {
			t.Errorf("%q: %+v, not %+v: %v", text, got, want, err)
		}
	}
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte("SECRET, net;amount\n1;2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Schema(context.Background(), Spec{Path: path, CSV: CSV{Found: &Found{}}})
	if err == nil || !strings.Contains(err.Error(), "one of them stands between the names") || strings.Contains(err.Error(), "SECRET") {
		t.Error(err)
	}
	// Rows are never looked at: whatever stands in them, the answer is the same.
	if err := os.WriteFile(path, []byte("a;b\n\xff\xfe\x00,|\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got Found
	if _, err := Schema(context.Background(), Spec{Path: path, CSV: CSV{Found: &got}}); err != nil || got != (Found{Delimiter: ';'}) {
		t.Error(got, err)
	}
}
