package language

import "testing"

// A plugin may not read what the table is made of, also where a pattern names its files.
func TestGrants(t *testing.T) {
	for _, c := range []struct {
		table, reads string
		refused      bool
	}{
		{"/none/t.csv", "/none/t.csv", true},
		{"/none/t.csv", "/none", true},
		{"/none/t.csv", "/none/models", false},
		{"/none/t", "/none/t/part.csv", true},
		{"/none/part-*.csv", "/none/part-1.csv", true},
		{"/none/part-?.csv", "/none/part-1.csv", true},
		{"/none/part-*.csv", "/none", true},
		{"/none/part-*.csv", "/", true},
		{"/none/part-*.csv", "/none/models", false},
		{"/none/*/t.csv", "/none/2026", true},
		{"/none/*/t.csv", "/none/2026/models", false},
		{"/none/2026*", "/none/2026-10/t.csv", true},
		{"/none/**/t.csv", "/none/2026/10", true},
		{"/*", "/none", true},
		{"/none/t[1].csv", "/none/t[1].csv", true},
		{"*.none", "t.none", true},
	} {
		if got := (secluded{"the table", c.table}).holds(c.reads); got != c.refused {
			t.Errorf("%s, reads %s: %v", c.table, c.reads, got)
		}
	}
}
