package main

import (
	"bytes"
	"testing"

	"github.com/dprelease/dprelease/internal/command"
)

// What a plugin calls a column, or a release holds, cannot speak to the terminal.
func TestTextForPeopleIsShownNotObeyed(t *testing.T) {
	for _, columns := range []string{"", "60"} {
		var out bytes.Buffer
		e := &environment{Environment: &command.Environment{Out: &out, Getenv: func(name string) (string, bool) { return columns, name == "COLUMNS" && columns != "" }}}
		if err := e.Tell(&out, "%s\n", "a\x1b]0;title\a\x1b[31mred\u202e\u0085\x7f ε ≤ 1\u00a0% 数"); err != nil {
			t.Fatal(err)
		}
		if want := "a?]0;title??[31mred??? ε ≤ 1\u00a0% 数\n"; out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}
