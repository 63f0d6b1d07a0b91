package language

import (
	"slices"
	"testing"

	"github.com/dprelease/dprelease/internal/job"
)

// Every number, default and example of a declaration can be read as what it is
// declared to be.
func TestDeclarations(t *testing.T) {
	n := 0
	var walk func(ds []Declared)
	walk = func(ds []Declared) {
		for _, d := range ds {
			n++
			if d.Doc == "" || d.Label == "" {
				t.Errorf("%s is not described", d.Name)
			}
			if d.Default != "" && d.fallback == nil {
				t.Errorf("the default of %s is not YAML: %s", d.Name, d.Default)
			}
			if _, err := written(d.Example).MarshalJSON(); d.Example != "" && err != nil {
				t.Errorf("the example of %s is not YAML: %s", d.Name, d.Example)
			}
			walk(d.Nested)
		}
	}
	walk(language().nested)
	if n < 40 {
		t.Errorf("%d keys are declared", n)
	}
	for _, s := range []string{"0", "1", "9007199254740992"} {
		if mustRat(s).RatString() != s {
			t.Errorf("%s is %s", s, mustRat(s).RatString())
		}
	}
}

// A job knows the keys of a table without the language.
func TestTableKeys(t *testing.T) {
	var names []string
	for _, d := range dataTable().nested {
		names = append(names, d.Name)
	}
	if !slices.Equal(names, job.TableKeys) {
		t.Errorf("a table has the keys %v, and job.TableKeys are %v", names, job.TableKeys)
	}
}
