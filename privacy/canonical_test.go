package privacy

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/specs"
)

// vectors returns the lines of specs/vectors/event/canonical.txt: what has to be done
// with which bytes.
func vectors(t testing.TB) (accept, refuse []string) {
	t.Helper()
	text, err := specs.FS.ReadFile("vectors/event/canonical.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		switch what, b, ok := strings.Cut(line, "\t"); {
		case ok && what == "accept":
			accept = append(accept, b)
		case ok && what == "refuse":
			refuse = append(refuse, b)
		default:
			t.Fatalf("unknown line %q", line)
		}
	}
	if len(accept) < len(Kinds()) || len(refuse) < 30 {
		t.Fatalf("%d vectors to accept and %d to refuse", len(accept), len(refuse))
	}
	return accept, refuse
}

func TestCanonicalVectors(t *testing.T) {
	accept, refuse := vectors(t)
	seen := map[string]bool{}
	for _, text := range accept {
		e, err := FromCanonical([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		seen[e.kind()] = true
		if b, err := Canonical(e); err != nil || string(b) != text {
			t.Errorf("%s became %s, %v", text, b, err)
		}
	}
	for _, k := range Kinds() {
		if !seen[k.Name] {
			t.Errorf("no vector for %s", k.Name)
		}
	}
	for _, text := range refuse {
		if e, err := FromCanonical([]byte(text)); err == nil {
			t.Errorf("%s is read as %#v", text, e)
		}
	}
}

// Every kind has canonical bytes that read back as the same event; two events have the
// same bytes only where they are equal.
func TestCanonicalOfEveryKind(t *testing.T) {
	seen := map[string]Event{}
	for _, e := range everyKind {
		b, err := Canonical(e)
		if err != nil {
			t.Fatal(err)
		}
		got, err := FromCanonical(b)
		if err != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("%s: %#v, %v", b, got, err)
		}
		if other, ok := seen[string(b)]; ok {
			t.Errorf("%#v and %#v have the same bytes", e, other)
		}
		seen[string(b)] = e
		for i := range b {
			// Whatever is missing or doubled makes it another event or none.
			for _, changed := range []string{string(b[:i]) + string(b[i+1:]), string(b[:i+1]) + string(b[i:])} {
				if got, err := FromCanonical([]byte(changed)); err == nil && Equal(got, e) {
					t.Errorf("%s is read as %s", changed, b)
				}
			}
		}
	}
}

func TestEqual(t *testing.T) {
	less := math.Nextafter(2, 1)
	for _, c := range []struct {
		a, b Event
		want bool
	}{
		{Laplace{Scale: 2}, Laplace{Scale: 2}, true},
		{Laplace{Scale: 2}, Laplace{Scale: less}, false},
		{Laplace{Scale: 2}, DiscreteLaplace{Scale: 2}, false},
		{Pure{1}, BoundedRange{Eps: 1}, false},
		{Compose{}, Compose{Events: []Event{}}, true},
		{Laplace{Scale: 2}, Laplace{Scale: 2, Sensitivity: Sensitivity{AddRemove: 1, ReplaceOne: 2}}, false},
		{nil, nil, false},
		{Pure{math.NaN()}, Pure{math.NaN()}, false},
		{&Pure{1}, Pure{1}, false},
	} {
		if got := Equal(c.a, c.b); got != c.want {
			t.Errorf("%#v, %#v: %v", c.a, c.b, got)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	deep := Event(Pure{1})
	for range MaxDepth - 1 {
		deep = Repeat{1, deep}
	}
	b, err := Canonical(deep)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := FromCanonical(b); err != nil {
		t.Error(err)
	}
	if _, err := FromCanonical([]byte(`{"repeat":{"n":1,"event":` + string(b) + `}}`)); err == nil {
		t.Error("nested too deeply and accepted")
	}
	for _, e := range []Event{nil, &Pure{1}, Repeat{1, deep}, Repeat{N: 1}, Pure{math.Inf(1)}, LastIterate{Variant: `a","b`}} {
		if b, err := Canonical(e); err == nil {
			t.Errorf("%#v is written as %s", e, b)
		}
	}
}

// FuzzFromCanonical: whatever is accepted is written as the bytes that were read.
func FuzzFromCanonical(f *testing.F) {
	accept, refuse := vectors(f)
	for _, text := range append(accept, refuse...) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := FromCanonical(b)
		if err != nil {
			return
		}
		if again, err := Canonical(e); err != nil || string(again) != string(b) {
			t.Fatalf("%s became %s, %v", b, again, err)
		}
	})
}
