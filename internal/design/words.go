package design

import (
	"embed"
	"fmt"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/report"
)

//go:embed texts/*.yaml
var textFiles embed.FS

// words are the texts of the page in one language, by name.
type words struct {
	language string
	texts    map[string]string
}

var catalogues = sync.OnceValue(func() map[string]*words {
	out := map[string]*words{}
	for _, name := range report.Languages {
		w := &words{language: name}
		b, err := textFiles.ReadFile("texts/" + name + ".yaml")
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

// T is a text with its blanks filled in.
func (w *words) T(name string, blanks ...any) string {
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
func (w *words) or(name, other string) string {
	if text, ok := w.texts[name]; ok {
		return text
	}
	return other
}

// Language returns the language of the page.
func (w *words) Language() string { return w.language }

// Foreign reports whether English texts stand in a page of another language.
func (w *words) Foreign() bool { return w.language != "en" }
