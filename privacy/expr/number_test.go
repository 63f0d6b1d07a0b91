package expr

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/privacy"
)

func TestWholeNumbers(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "-0": 0, "0.0": 0, "0e5": 0, "+5": 5, "1e3": 1000, "1E+3": 1000, "1000.": 1000, "1000.000": 1000, "1_000_000": 1000000, "12.5e1": 125,
		"0x1F": 31, "0o17": 15, "0b101": 5, " 7 ": 7, "-3": -3, "9223372036854775807": math.MaxInt64, "9007199254740993": 1<<53 + 1,
		"1000000000000000000e0": 1e18, "0.5e1": 5, "50e-1": 5,
	} {
		if got, wrong := parseInt(text); wrong != "" || got != want {
			t.Errorf("%q: %d %s, want %d", text, got, wrong, want)
		}
	}
	for _, text := range []string{"", " ", "1.5", "1e-1", "0.1", "9223372036854775808", "1e19", "0xFFFFFFFFFFFFFFFFFF", "1__0", "_1", "1_", "1e", "e1", ".", "-", "--1", "1 2", "٣", "1e3.0", "08", "1,000", "true", "0x"} {
		if got, wrong := parseInt(text); wrong == "" {
			t.Errorf("%q was read as %d", text, got)
		}
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]float64{
		"1": 1, ".5": 0.5, "5.": 5, "-1e-6": -1e-6, "1E6": 1e6, "5e-324": 5e-324, "1.7976931348623157e308": math.MaxFloat64, "1_0.2_5": 10.25, "0x10": 16, "0.1": 0.1, "0e999999": 0,
	} {
		if got, wrong := parseFloat(text); wrong != "" || got != want {
			t.Errorf("%q: %v %s, want %v", text, got, wrong, want)
		}
	}
	for _, text := range []string{"nan", "NaN", ".nan", "-.NaN", "inf", "+Inf", ".inf", "infinity", "1e309", "-1e309", "1e-400", "0x1p3", "1e1e1", "½", "1/3", "5%"} {
		if got, wrong := parseFloat(text); wrong == "" {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}

// TestSpecificationNamesEverything holds the specification and the parser
// together: every event, field, method and calibrated field is in it.
func TestSpecificationNamesEverything(t *testing.T) {
	text, err := os.ReadFile("../../specs/account-v1.md")
	if err != nil {
		t.Fatal(err)
	}
	spec := string(text)
	names := append([]string{"relation", "event", "query", "methods", "calibrate", "epsilon", "delta"}, MethodNames...)
	var walk func(fields []privacy.Field)
	walk = func(fields []privacy.Field) {
		for _, f := range fields {
			if f.Name != "" {
				names = append(names, f.Name)
			}
			names = append(names, f.Words...)
			walk(f.Fields)
		}
	}
	_, events, _ := strings.Cut(spec, "\n## Events\n")
	for _, k := range privacy.Kinds() {
		_, row, ok := strings.Cut(events, "\n| `"+k.Name+"` |")
		row, _, _ = strings.Cut(row, " |\n")
		if plain := strings.NewReplacer("`", "", `\|`, "|").Replace(row); !ok || !strings.HasSuffix(plain, "| "+k.About) {
			t.Errorf("the row of %s does not say %q", k.Name, k.About)
		}
		walk(k.Fields)
	}
	for _, name := range names {
		if !strings.Contains(spec, "`"+name+"`") {
			t.Errorf("the specification does not name %s", name)
		}
	}
	for name, limit := range map[string]int{"1 MiB": MaxBytes >> 20, "100 events": MaxDepth, "10,000": MaxEvents / 10} {
		if !strings.Contains(spec, name) || limit != map[string]int{"1 MiB": 1, "100 events": 100, "10,000": 1000}[name] {
			t.Errorf("the limit %s is not the one of the code", name)
		}
	}
}
