package sentence

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Languages are the languages that people are told of a job in. Each is one file of texts.
var Languages = []string{"en", "de"}

//go:embed texts/*.yaml
var files embed.FS

// Words are the texts of one language, by name. A blank is %s.
type Words struct {
	Name  string
	Texts map[string]string
	Notes map[string]string // by the English sentences of mechanisms, designs and methods
	long  []string          // the keys of Notes, the longest first
}

// ours reads a language when it is first asked for: most runs speak one.
var ours = func() map[string]func() *Words {
	out := map[string]func() *Words{}
	for _, name := range Languages {
		out[name] = sync.OnceValue(func() *Words { return Read(files, name) })
	}
	return out
}()

// Read returns a language whose texts lie in a folder texts.
func Read(from fs.FS, name string) *Words {
	l := &Words{Name: name, Texts: map[string]string{}, Notes: map[string]string{}}
	b, err := fs.ReadFile(from, "texts/"+name+".yaml")
	if err == nil {
		err = l.read(string(b))
	}
	if err != nil {
		panic(fmt.Sprintf("the texts of %s: %v", name, err)) // they are embedded, and a test reads them
	}
	l.long = slices.SortedFunc(maps.Keys(l.Notes), func(a, b string) int { return 4*(len(b)-len(a)) + strings.Compare(a, b) })
	return l
}

// read reads a name and a text from each line, plain or in double quotes; two spaces before a name make it a note. A parser of all
// of YAML would be a twentieth of a small run.
func (w *Words) read(lines string) error {
	for line := range strings.Lines(lines) {
		note := strings.HasPrefix(line, "  ")
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line == "notes:" {
			continue
		}
		name, _ := strconv.QuotedPrefix(line) // "" for a plain name
		if name == "" {
			name, _, _ = strings.Cut(line, ": ")
		}
		text, ok := strings.CutPrefix(line[len(name):], ": ")
		if !ok {
			return fmt.Errorf("no name: %s", line)
		}
		into := w.Texts
		if note {
			into = w.Notes
		}
		into[plain(name)] = plain(text)
	}
	return nil
}

// plain returns a text without the quotes that it may have.
func plain(text string) string {
	if quoted, err := strconv.Unquote(text); err == nil {
		return quoted
	}
	return text
}

// In returns a language, and English for one that is not there.
func In(name string) *Words {
	read, ok := ours[name]
	if !ok {
		read = ours["en"]
	}
	return read()
}

// T is a text with its blanks filled in. A blank that is a number is written as the language does.
func (w *Words) T(name string, blanks ...any) string {
	text, ok := w.Texts[name]
	if !ok {
		return name // a test finds it
	}
	return w.fill(text, blanks)
}

// Or is the text of that name, or another one where there is none.
func (w *Words) Or(name, other string) string {
	if text, ok := w.Texts[name]; ok {
		return text
	}
	return other
}

// Language returns the name of the language.
func (w *Words) Language() string { return w.Name }

// Foreign reports whether English sentences would stand in a page of another language.
func (w *Words) Foreign() bool { return w.Name != "en" }

func (w *Words) fill(text string, blanks []any) string {
	if len(blanks) == 0 {
		return text
	}
	for i, b := range blanks {
		if s, ok := b.(string); ok && w.Foreign() {
			blanks[i] = w.Number(s)
		}
	}
	return fmt.Sprintf(text, blanks...)
}

// Note returns a remark of a report in the language, and whether all of it is known. What is not known stays as it is.
func (w *Words) Note(text string) (in string, ok bool) {
	if !w.Foreign() || text == "" {
		return text, true
	}
	if in, ok = w.known(text, 0); ok {
		return in, true
	}
	if numeric(text) || !strings.Contains(text, " ") { // else it is a name
		return w.Number(text), true
	}
	for _, between := range []string{". ", "; ", ": ", ", "} {
		if parts := strings.Split(text, between); len(parts) > 1 {
			for i, p := range parts {
				if parts[i], ok = w.Note(p); !ok {
					return text, false
				}
			}
			return strings.Join(parts, between), true
		}
	}
	return w.known(text, 12)
}

// known fills in the longest remark that fits a text. A blank is a name or a short remark; in remarks of so many
// letters it may be anything.
func (w *Words) known(text string, letters int) (in string, ok bool) {
	for _, english := range w.long {
		blanks, ok := blanksOf(english, text)
		for i := 0; ok && i < len(blanks); i++ {
			blank := blanks[i].(string)
			blanks[i], ok = w.Note(blank)
			ok = ok && !strings.Contains(blank, "; ") && !strings.Contains(blank, ". ") || letters > 0 && len(english) > letters
		}
		if ok {
			return w.fill(w.Notes[english], blanks), true
		}
	}
	return text, false
}

// blanksOf returns what stands in the blanks of a sentence.
func blanksOf(sentence, text string) (blanks []any, ok bool) {
	parts := strings.Split(sentence, "%s")
	rest, ok := strings.CutPrefix(text, parts[0])
	for i, p := range parts[1:] {
		at := strings.Index(rest, p)
		if i == len(parts)-2 {
			at = len(rest) - len(p)
		}
		if !ok || at < 1 || !strings.HasPrefix(rest[at:], p) {
			return nil, false
		}
		blanks, rest = append(blanks, rest[:at]), rest[at+len(p):]
	}
	return blanks, ok && rest == ""
}

// signs lists the characters that may stand beside the digits of a number.
const signs = " \u00a0\u202f.,±−–+-*/()%<>≤≥~×^&#;:εδρσekMG"

// numeric reports whether a text is made of numbers and signs alone.
func numeric(text string) bool {
	return strings.ContainsAny(text, "0123456789") &&
		!strings.ContainsFunc(text, func(r rune) bool { return (r < '0' || r > '9') && !strings.ContainsRune(signs, r) })
}

// Number writes a text of numbers and signs alone as the language does: 12.345,6 in German. Any other text is as it was.
func (w *Words) Number(text string) string {
	if !w.Foreign() || !numeric(text) {
		return text
	}
	digit := func(r []rune, i int) bool { return i >= 0 && i < len(r) && '0' <= r[i] && r[i] <= '9' }
	out := []rune(strings.ReplaceAll(text, ", ", "; "))
	was := slices.Clone(out)
	for i, r := range was {
		switch {
		case !digit(was, i-1) || !digit(was, i+1):
		case r == '.':
			out[i] = ','
		case r == '\u202f':
			out[i] = '.'
		}
	}
	return string(out)
}
