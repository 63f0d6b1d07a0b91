package report

import (
	"embed"
	"fmt"
	"sync"

	"gopkg.in/yaml.v3"
)

// Languages are the languages that a page can be written in. Each is one file of texts.
var Languages = []string{"en", "de"}

//go:embed texts/*.yaml
var textFiles embed.FS

// words are the texts of a page in one language, by name.
type words struct {
	language string
	texts    map[string]string
}

var catalogues = sync.OnceValue(func() map[string]words {
	out := map[string]words{}
	for _, name := range Languages {
		b, err := textFiles.ReadFile("texts/" + name + ".yaml")
		w := words{language: name}
		if err == nil {
			err = yaml.Unmarshal(b, &w.texts)
		}
		if err != nil {
			panic(fmt.Sprintf("the texts of %s: %v", name, err)) // they are embedded, and a test reads them
		}
		out[name] = w
	}
	return out
})

// wordsIn are the texts of a language, English where there are none.
func wordsIn(language string) words {
	if w, ok := catalogues()[language]; ok {
		return w
	}
	return catalogues()["en"]
}

// t is a text with its blanks filled in.
func (w words) t(name string, blanks ...any) string {
	text, ok := w.texts[name]
	if !ok {
		return name // a test finds it
	}
	if len(blanks) == 0 {
		return text
	}
	return fmt.Sprintf(text, blanks...)
}

// or is the text of that name, or another one where there is none.
func (w words) or(name, other string) string {
	if text, ok := w.texts[name]; ok {
		return text
	}
	return other
}

// foreign reports whether texts of a report, which are English, stand in a page of
// another language.
func (w words) foreign() bool { return w.language != "en" }
