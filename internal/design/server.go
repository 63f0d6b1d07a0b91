package design

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/data/whole"
	"github.com/dprelease/dprelease/internal/design/draft"
	"github.com/dprelease/dprelease/internal/job/language"
)

// Session is one page: the job that it designs, and what it needs to plan it.
type Session struct {
	Path       string // of the job, which need not be there yet
	Table      string // of a new job
	Getenv     func(string) (string, bool)
	Set        []string // values of the job's variables
	Mechanisms string   // the program that serves the mechanisms
	Version    string

	mu   sync.Mutex
	said string // the table whose first line holds names, as the person said
	busy chan struct{}

	_ struct{}
}

// most bounds what a request may hold: a job in JSON.
const most = 3 * language.MaxBytes

//go:embed page.js
var script []byte

//go:embed page.css
var style []byte

// Listen opens a port of this machine alone and returns the address of the page, which holds a token that nobody can guess.
func (s *Session) Listen() (net.Listener, *http.Server, string, error) {
	secret := make([]byte, 24)
	if _, err := rand.Read(secret); err != nil {
		return nil, nil, "", err
	}
	token := base64.RawURLEncoding.EncodeToString(secret)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, nil, "", err
	}
	host := l.Addr().String()
	server := &http.Server{Handler: s.Handler(host, token), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
		MaxHeaderBytes: 1 << 16}
	return l, server, "http://" + host + "/" + token + "/", nil
}

// Handler answers requests that name this host and the token.
func (s *Session) Handler(host, token string) http.Handler {
	s.busy = make(chan struct{}, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.HandleFunc("GET /page.js", serve("text/javascript; charset=utf-8", script))
	mux.HandleFunc("GET /page.css", serve("text/css; charset=utf-8", style))
	mux.HandleFunc("POST /edit", answer(s.edit))
	mux.HandleFunc("POST /header", answer(s.firstLine))
	mux.HandleFunc("POST /study", answer(part(s, "study", s.compare)))
	mux.HandleFunc("POST /picture", answer(part(s, "picture", s.invent)))
	mux.HandleFunc("POST /save", answer(s.save))
	return guard(host, token, mux)
}

// guard lets in who knows the token and comes from this page. A page of somebody else cannot: its requests have another
// origin, and a name that somebody points at this machine (DNS rebinding) is another host.
func guard(host, token string, next http.Handler) http.Handler {
	port := host[strings.LastIndex(host, ":"):]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "+
			"form-action 'none'; frame-ancestors 'none'")
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if r.Host != host && r.Host != "localhost"+port {
			http.Error(w, "this page has another address", http.StatusForbidden)
			return
		}
		first, rest, found := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if subtle.ConstantTimeCompare([]byte(first), []byte(token)) != 1 || !found {
			http.Error(w, "the address is the one that dprelease design printed", http.StatusForbidden)
			return
		}
		if r.Method != http.MethodGet {
			if r.Header.Get("Origin") != "http://"+r.Host || r.Header.Get("Content-Type") != "application/json" {
				http.Error(w, "this page alone may ask", http.StatusForbidden)
				return
			}
			r.Body = http.MaxBytesReader(w, r.Body, most)
		}
		inner := r.Clone(r.Context())
		inner.URL.Path, inner.URL.RawPath = "/"+rest, ""
		next.ServeHTTP(w, inner)
	})
}

func serve(kind string, b []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(b) // who went away misses nothing
	}
}

// A question comes from the page.
type question struct {
	Language string   `json:"language"`
	Text     string   `json:"text"`
	Actions  []Action `json:"actions,omitempty"` // of edit
	Seen     string   `json:"seen,omitempty"`    // of save: the file as the page knows it
	Release  string   `json:"release,omitempty"` // of study
	Rows     string   `json:"rows,omitempty"`    // of picture
}

// A reply goes to the page.
type reply struct {
	Text    string     `json:"text,omitempty"`
	Form    string     `json:"form,omitempty"`
	Part    string     `json:"part,omitempty"` // a study, or a picture
	Lines   []lineNote `json:"lines"`
	Seen    string     `json:"seen,omitempty"`
	Message string     `json:"message,omitempty"`
	Failed  bool       `json:"failed,omitempty"`
}

// lineNote is a problem at its line.
type lineNote struct {
	Line    int    `json:"line"`
	Message string `json:"message"`
}

// answer reads a question and writes the reply. What a question gets wrong is told in one line, and never with a stack.
func answer(f func(context.Context, *words, question) (reply, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var q question
		d := json.NewDecoder(r.Body)
		d.DisallowUnknownFields()
		if err := d.Decode(&q); err != nil || d.More() {
			var large *http.MaxBytesError
			if errors.As(err, &large) {
				http.Error(w, "the job is too large", http.StatusRequestEntityTooLarge)
				return
			}
			http.Error(w, "this is no question of the page", http.StatusBadRequest)
			return
		}
		language, ok := catalogues()[q.Language]
		if !ok {
			language = catalogues()["en"]
		}
		out, err := f(r.Context(), language, q)
		if err != nil {
			out = reply{Failed: true, Message: said(err)}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out) // who went away misses nothing
	}
}

// edit carries out what a person did, and looks at the job that comes out.
func (s *Session) edit(ctx context.Context, w *words, q question) (reply, error) {
	for _, a := range q.Actions {
		doc, err := parse(q.Text)
		if err != nil {
			return reply{}, err
		}
		changes, err := a.changes(doc.Content[0])
		if err != nil {
			return reply{}, err
		}
		if q.Text, err = Edit(q.Text, changes...); err != nil {
			return reply{}, err
		}
	}
	return s.show(ctx, w, q.Text)
}

// firstLine reads the header of a table, because the person said that its first line is one.
func (s *Session) firstLine(ctx context.Context, w *words, q question) (reply, error) {
	doc, err := parse(q.Text)
	if err != nil {
		return reply{}, err
	}
	s.mu.Lock()
	s.said = text(doc.Content[0], "dataset", "source", "path")
	s.mu.Unlock()
	h := s.header(ctx, doc.Content[0], true)
	if q.Text, err = Edit(q.Text, h.changes...); err != nil {
		return reply{}, err
	}
	return s.show(ctx, w, q.Text)
}

// show makes the page for a job. A text that is no YAML has problems, and the forms stay as they are.
func (s *Session) show(ctx context.Context, w *words, text string) (reply, error) {
	f := s.look(ctx, text)
	if err := ctx.Err(); err != nil {
		return reply{}, err
	}
	out := reply{Text: text, Lines: []lineNote{}}
	doc, err := parse(text)
	if err == nil {
		shown := w.form(doc.Content[0], s.header(ctx, doc.Content[0], s.saidOf(doc)), f)
		f.problems = shown.Problems
		out.Form, err = render("form", shown)
	} else {
		err = nil // the problems say so
	}
	for _, p := range f.problems {
		out.Lines = append(out.Lines, lineNote{p.Line, p.Text()})
	}
	return out, err
}

// part answers with a part of the page that takes long to compute. It waits until no other part is under way.
func part[T any](s *Session, name string, compute func(context.Context, *words, question) (T, error)) func(context.Context, *words,
	question) (reply, error) {
	return func(ctx context.Context, w *words, q question) (reply, error) {
		select {
		case s.busy <- struct{}{}:
			defer func() { <-s.busy }()
		case <-ctx.Done():
			return reply{}, ctx.Err()
		}
		data, err := compute(ctx, w, q)
		if err != nil {
			return reply{}, err
		}
		text, err := render(name, data)
		return reply{Part: text}, err
	}
}

// absent is the digest of a file that is not there.
const absent = "none"

// digest names the bytes of the job file, so that a save notices who else wrote it.
func (s *Session) digest() (string, []byte, error) {
	b, err := file.Read(s.Path, language.MaxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return absent, nil, nil
	case err != nil:
		return "", nil, err
	}
	return sum(b), b, nil
}

// save writes the job to its file, whole or not at all. It refuses where the file is not the one that the page knows.
func (s *Session) save(_ context.Context, w *words, q question) (reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, _, err := s.digest()
	name := filepath.Base(s.Path)
	switch {
	case err != nil:
		return reply{Failed: true, Message: w.T("save.failed", name)}, nil
	case now != q.Seen:
		return reply{Failed: true, Message: w.T("save.changed", name)}, nil
	case len(q.Text) > language.MaxBytes:
		return reply{Failed: true, Message: w.T("save.failed", name)}, nil
	}
	path := s.Path
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a link stays one
	}
	if err := whole.WriteFile(path, []byte(q.Text), 0o644); err != nil {
		return reply{Failed: true, Message: w.T("save.failed", name)}, nil
	}
	return reply{Seen: sum([]byte(q.Text)), Message: w.T("saved", name)}, nil
}

// Start returns the text of the job as the page opens: the file, or a new job.
func (s *Session) Start() (text, seen string, err error) {
	seen, b, err := s.digest()
	if err != nil {
		return "", "", fmt.Errorf("%s cannot be read", s.Path)
	}
	if seen != absent {
		return string(b), seen, nil
	}
	name := strings.TrimSuffix(filepath.Base(s.Path), filepath.Ext(s.Path))
	source := ""
	if s.Table != "" {
		source = "\n  source: {path: " + draft.Quoted(draft.Named(s.Table, filepath.Dir(s.Path))) + "}"
	}
	return fmt.Sprintf(fresh, draft.Quoted(name), draft.Quoted(name), source), seen, nil
}

// fresh is a new job. The decisions that only a person can make are not in it.
const fresh = `# Bounds, domains and sizes are public facts: take none of them from the data.
version: 1
job: %s
dataset:
  id: %s%s
budget:
  limit: {epsilon: "1"}
releases: []
output: {dir: out}
`

// Exists reports whether the job's file is there.
func (s *Session) Exists() bool {
	_, err := os.Stat(s.Path)
	return err == nil
}
