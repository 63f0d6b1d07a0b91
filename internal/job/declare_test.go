package job

import "testing"

// Every number, default and example of a declaration can be read as what it is
// declared to be.
func TestDeclarations(t *testing.T) {
	n := 0
	var walk func(ds []decl)
	walk = func(ds []decl) {
		for _, d := range ds {
			n++
			if d.doc == "" || d.label == "" {
				t.Errorf("%s is not described", d.name)
			}
			if d.def != "" && d.fallback == nil {
				t.Errorf("the default of %s is not YAML: %s", d.name, d.def)
			}
			if _, err := written(d.example).MarshalJSON(); d.example != "" && err != nil {
				t.Errorf("the example of %s is not YAML: %s", d.name, d.example)
			}
			walk(d.nested)
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
