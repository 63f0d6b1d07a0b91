package design

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"html/template"
	"net/http"
	"path/filepath"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/say/sentence"
)

//go:embed page.html.tmpl
var pageText string

var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("design").Parse(pageText))
})

func render(name string, data any) (string, error) {
	var b bytes.Buffer
	err := templates().ExecuteTemplate(&b, name, data)
	return b.String(), err
}

// sum names bytes.
func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// opened is the page as it opens.
type opened struct {
	*words
	File, Text, Seen string
	Form             template.HTML
	Lines            []lineNote
	Other            []string // languages
}

// page writes the whole page, in the language that the browser prefers or the address names.
func (s *Session) page(w http.ResponseWriter, r *http.Request) {
	language := r.URL.Query().Get("language")
	if _, ok := catalogues()[language]; !ok {
		if language = "en"; strings.HasPrefix(strings.ToLower(r.Header.Get("Accept-Language")), "de") {
			language = "de"
		}
	}
	words := catalogues()[language]
	text, seen, err := s.Start()
	if err != nil {
		http.Error(w, "the job cannot be read", http.StatusInternalServerError)
		return
	}
	shown, err := s.show(r.Context(), words, text)
	if err != nil {
		http.Error(w, "the page cannot be made", http.StatusInternalServerError)
		return
	}
	form := template.HTML(shown.Form) //nolint:gosec // html/template made it
	if shown.Form == "" {
		form = template.HTML("<p>" + template.HTMLEscapeString(words.T("unreadable")) + "</p>") //nolint:gosec // escaped
	}
	page := opened{words: words, File: filepath.Base(s.Path), Text: text, Seen: seen, Form: form, Lines: shown.Lines}
	for _, l := range sentence.Languages {
		if l != language {
			page.Other = append(page.Other, l)
		}
	}
	b, err := render("page", page)
	if err != nil {
		http.Error(w, "the page cannot be made", http.StatusInternalServerError)
		return
	}
	serve("text/html; charset=utf-8", []byte(b))(w, r)
}

// saidOf reports whether the person said that the first line of the job's table is one.
func (s *Session) saidOf(doc *yaml.Node) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said != "" && s.said == text(doc.Content[0], "dataset", "source", "path")
}
