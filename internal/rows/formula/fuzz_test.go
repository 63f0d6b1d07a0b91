package formula

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever a text holds, Check answers: with a formula that is complete, or with
// problems that are placed inside the text. A formula's canonical text is canonical.
func FuzzCheck(f *testing.F) {
	for _, text := range []string{"", "age >= 18 && borough in ['Bronx', \"Queens\"]", "a.b.c(d)[0]", "column('odd name') > 1e308 * 1e308", "((((((",
		"!!!!--1 ? 'a' : null", "born < date('0000-01-01') || year(pickup) % 4 == 0", "[[], {}, b'', r\"\\\", 0x10u, .5]", "\"\\ud800\"", "min(1,2,3,4,5,6,7,8,9)",
		"age > 1 && age < 0 || !(note in ['a'])", "1 = 2 and \x00", "if(a, b, c)", "home.city.startsWith('x') ? adult : minor", strings.Repeat("-", 300) + "age"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		Reads(text)
		got, problems := Check(text, columns)
		if (got == nil) != (len(problems) > 0) {
			t.Fatalf("%q: %v and %v", text, got, problems)
		}
		lines := strings.Split(text, "\n")
		for _, p := range problems {
			if p.Line < 1 || p.Line > len(lines) || p.Column < 1 || p.Column > utf8.RuneCountInString(lines[p.Line-1])+1 || p.Message == "" {
				t.Fatalf("%q: a problem at %d:%d: %s", text, p.Line, p.Column, p.Message)
			}
			if len(p.Message)+len(p.Hint) > 2000 || !utf8.ValidString(p.Error()) {
				t.Fatalf("%q: %q", text, p.Error())
			}
		}
		if got == nil {
			return
		}
		reads := Reads(text)
		for _, name := range got.Columns() {
			if !strings.Contains(strings.Join(reads, "\x00"), name) {
				t.Fatalf("%q reads %s, which Reads does not say: %q", text, name, reads)
			}
		}
		var whole func(n *Node)
		whole = func(n *Node) {
			if n.Op == 0 || n.Type < Number || n.Type > Timestamp || n.Op == Literal && (n.Number != n.Number || n.Number-n.Number != 0) {
				t.Fatalf("%q: a node %+v", text, n)
			}
			for _, a := range n.Args {
				whole(a)
			}
		}
		whole(got.Root)
		if again, _ := Check(" ( "+text+"\n) ", columns); again != nil && again.Canonical() != got.Canonical() {
			t.Fatalf("%q is %s, and with white space and parentheses %s", text, got.Canonical(), again.Canonical())
		}
	})
}
