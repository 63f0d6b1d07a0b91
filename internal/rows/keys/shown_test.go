package keys

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"
	"unicode"
)

func TestShown(t *testing.T) {
	for key, want := range map[string]string{
		"": "", "Zürich": "Zürich", "a b": "a b", `C:\x`: `C:\\x`, "a\nb": `a\nb`, "a\r\n\tb": `a\r\n\tb`, "\x1b[31m": `\x1b[31m`, "\x00": `\x00`,
		"\xff\xfe": `\xff\xfe`, "\u202egnp.exe": `\u202egnp.exe`, "a\u200bb": `a\u200bb`, "\u2028": `\u2028`, "\ufffd": "\ufffd", "\U000e0001": `\U000e0001`,
		"a\u00a0b": `a\u00a0b`, `"quoted, with a comma"`: `"quoted, with a comma"`, "日本": "日本", `\n`: `\\n`, "\x7f": `\x7f`, "\u0085": `\u0085`,
	} {
		if got := Shown(key); got != want {
			t.Errorf("%q is shown as %s, want %s", key, got, want)
		}
	}
}

// FuzzShown: what is shown is printable, stays one cell of a CSV file, and differs for different keys.
func FuzzShown(f *testing.F) {
	for _, s := range []string{"a", "a\nb", "\xff", `\`, `\n`, "\u202e", "", `","`, "\ufffd\xff"} {
		f.Add(s, s+`\`)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := Shown(a), Shown(b)
		if (x == y) != (a == b) {
			t.Fatalf("%q and %q are shown as %s and %s", a, b, x, y)
		}
		if i := strings.IndexFunc(x, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
			t.Fatalf("%q is shown as %q", a, x)
		}
		var out bytes.Buffer
		w := csv.NewWriter(&out)
		if err := w.WriteAll([][]string{{x, y}}); err != nil {
			t.Fatal(err)
		}
		if back, err := csv.NewReader(&out).ReadAll(); err != nil || len(back) != 1 || back[0][0] != x || back[0][1] != y {
			t.Fatalf("%q, %q: %q, %v", a, b, back, err)
		}
	})
}
