package design

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/say/figure"
	"github.com/dprelease/dprelease/internal/say/sentence"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

const (
	host  = "127.0.0.1:4711"
	token = "the-token-of-this-test-alone"
)

// session is a page for a job in a folder of its own.
func session(t *testing.T, name, text string) (*Session, http.Handler) {
	t.Helper()
	s := &Session{Path: filepath.Join(t.TempDir(), name), Getenv: func(string) (string, bool) { return "", false }}
	var err error
	if s.Mechanisms, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	if text != "" {
		if err := os.WriteFile(s.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s, s.Handler(host, token)
}

// post asks as the page does.
func post(h http.Handler, verb string, q question, change ...func(*http.Request)) (int, reply) {
	b, err := json.Marshal(q)
	if err != nil {
		panic(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/"+token+"/"+verb, strings.NewReader(string(b)))
	r.Host = host
	r.Header.Set("Origin", "http://"+host)
	r.Header.Set("Content-Type", "application/json")
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var out reply
	_ = json.NewDecoder(w.Body).Decode(&out) // what is refused is no JSON
	return w.Code, out
}

// Nobody else gets an answer: another token, another host (DNS rebinding), another origin, a form of another page, a
// huge body. Each refusal stands beside the same request with that one thing right.
func TestSabotage(t *testing.T) {
	s, h := session(t, "job.yaml", "version: 1\n")
	if code, out := post(h, "edit", question{Text: "a: 1"}); code != http.StatusOK || out.Text != "a: 1" {
		t.Fatalf("the page itself: %d, %+v", code, out)
	}
	if code, _ := post(h, "edit", question{Text: "a: 1"}, func(r *http.Request) {
		r.Host = "localhost:4711"
		r.Header.Set("Origin", "http://localhost:4711")
	}); code != http.StatusOK {
		t.Errorf("localhost: %d", code)
	}
	for name, c := range map[string]struct {
		want   int
		change func(*http.Request)
	}{
		"no token":        {http.StatusForbidden, func(r *http.Request) { r.URL.Path = "/edit" }},
		"another token":   {http.StatusForbidden, func(r *http.Request) { r.URL.Path = "/the-token-of-this-test-alonf/edit" }},
		"half of a token": {http.StatusForbidden, func(r *http.Request) { r.URL.Path = "/the-token/edit" }},
		"another host": {http.StatusForbidden, func(r *http.Request) {
			r.Host = "evil.example:4711"
			r.Header.Set("Origin", "http://evil.example:4711")
		}},
		"another port":   {http.StatusForbidden, func(r *http.Request) { r.Host = "127.0.0.1:80" }},
		"no origin":      {http.StatusForbidden, func(r *http.Request) { r.Header.Del("Origin") }},
		"another origin": {http.StatusForbidden, func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }},
		"another port's": {http.StatusForbidden, func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:80") }},
		"a form":         {http.StatusForbidden, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }},
		"another method": {http.StatusMethodNotAllowed, func(r *http.Request) { r.Method = http.MethodPut }},
		"a path outside": {http.StatusTemporaryRedirect, func(r *http.Request) { r.URL.Path = "/" + token + "/../../etc/passwd" }},
		"another file":   {http.StatusNotFound, func(r *http.Request) { r.URL.Path = "/" + token + "/server.go"; r.Method = http.MethodGet }},
		"no JSON":        {http.StatusBadRequest, func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("{")) }},
		"an unknown key": {http.StatusBadRequest, func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(`{"path": "/etc/x"}`)) }},
		"a huge body": {http.StatusRequestEntityTooLarge, func(r *http.Request) {
			r.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"text": "`), endless{}))
		}},
		"a nested bracket": {http.StatusBadRequest, func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(strings.Repeat("[", 100_000))) }},
	} {
		code, out := post(h, "edit", question{Text: "a: 1"}, c.change)
		if code != c.want || out.Text != "" {
			t.Errorf("%s: %d, %+v; want %d", name, code, out, c.want)
		}
	}
	if b, err := os.ReadFile(s.Path); err != nil || string(b) != "version: 1\n" {
		t.Errorf("the job is %q (%v)", b, err)
	}
	// The address is a secret: it goes to no other page, and nobody keeps what it showed.
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/"+token+"/", nil)
	r.Host = host
	h.ServeHTTP(w, r)
	for name, want := range map[string]string{"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if p := w.Header().Get("Content-Security-Policy"); w.Code != http.StatusOK || !strings.Contains(p, "default-src 'none'") || strings.Contains(p, "unsafe") || strings.Contains(p, "*") {
		t.Errorf("%d, policy %q", w.Code, p)
	}
}

// endless is a text without an end.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'a'
	}
	return len(b), nil
}

// Texts that would grow without measure when they are read are refused at once, like deep ones.
func TestBombs(t *testing.T) {
	_, h := session(t, "job.yaml", "")
	for name, text := range map[string]string{"aliases": bomb, "depth": strings.Repeat("[", 20_000), "no YAML": "a: [\n"} {
		code, out := post(h, "edit", question{Text: text, Actions: []Action{{Name: "set/x", Value: "1"}}})
		if name == "aliases" && !out.Failed { // a key more is a change that a text with aliases allows
			code, out = post(h, "edit", question{Text: out.Text, Actions: []Action{{Name: "set/i/0", Value: "1"}}})
		}
		if code != http.StatusOK || len(out.Lines) == 0 && !out.Failed || len(out.Text) > 2*len(text) {
			t.Errorf("%s: %d, %.200v", name, code, out)
		}
	}
}

// Names of columns, values and everything that the job holds come out as text, whatever they are made of.
func TestHostileNames(t *testing.T) {
	const evil = `<script>alert(1)</script>"' onfocus=alert(1) {{.}} /~~1`
	s, h := session(t, "job.yaml", "")
	table := filepath.Join(filepath.Dir(s.Path), "t.csv")
	if err := os.WriteFile(table, []byte("\""+strings.ReplaceAll(evil, `"`, `""`)+"\",b\nsecret-cell,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := "dataset: {source: {path: t.csv}}\nreleases: []\n"
	code, out := post(h, "edit", question{Text: text})
	if code != http.StatusOK || strings.Contains(out.Form, "script") {
		t.Fatalf("before the person said that the first line is one: %d\n%s", code, out.Form)
	}
	_, out = post(h, "header", question{Text: text})
	if !strings.Contains(out.Form, "&lt;script&gt;") {
		t.Errorf("the column is not there: %s", out.Message)
	}
	control := Action{Name: pointer("use", evil), Value: "category"}
	for _, a := range []Action{control, {Name: pointer("list", "dataset", "columns", evil, "domain"), Value: evil}, {Name: "add", Value: evil}, {Name: pointer("text", "releases", "0", "where"), Value: evil}} {
		if _, out = post(h, "edit", question{Text: out.Text, Actions: []Action{a}}); out.Failed {
			t.Fatalf("%v: %s", a, out.Message)
		}
	}
	if strings.Contains(out.Form, "<script") || strings.Contains(out.Form, "secret-cell") || strings.Contains(out.Form, `"' onfocus=`) {
		t.Error("the form holds it as it is")
	}
	j, err := language.Parse("job.yaml", []byte(out.Text), language.Options{})
	if err == nil || j == nil || len(j.Dataset.Columns) != 1 || j.Dataset.Columns[0].Name != evil {
		t.Errorf("the job has %+v (%v)", j, err)
	}
	w := httptest.NewRecorder()
	if err := os.WriteFile(s.Path, []byte(out.Text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/"+token+"/", nil)
	r.Host = host
	h.ServeHTTP(w, r)
	if page := w.Body.String(); w.Code != http.StatusOK || strings.Count(page, "<script") != 1 {
		t.Errorf("the page has %d scripts", strings.Count(page, "<script"))
	}
}

// A save replaces the file that the page knows, whole, and no other.
func TestSave(t *testing.T) {
	s, h := session(t, "job.yaml", "")
	read := func() string {
		b, _ := os.ReadFile(s.Path)
		return string(b)
	}
	_, first := post(h, "save", question{Text: "a: 1\n", Seen: absent})
	if first.Failed || first.Seen == "" || read() != "a: 1\n" {
		t.Fatalf("%+v: %q", first, read())
	}
	if _, out := post(h, "save", question{Text: "a: 2\n", Seen: absent}); !out.Failed || read() != "a: 1\n" {
		t.Errorf("a file that is there was replaced: %+v, %q", out, read())
	}
	_, second := post(h, "save", question{Text: "a: 3\n", Seen: first.Seen})
	if second.Failed || read() != "a: 3\n" {
		t.Errorf("%+v: %q", second, read())
	}
	if err := os.WriteFile(s.Path, []byte("a: 4 # by somebody else\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, out := post(h, "save", question{Text: "a: 5\n", Seen: second.Seen, Language: "de"}); !out.Failed || !strings.Contains(out.Message, "Jemand anderes") || read() != "a: 4 # by somebody else\n" {
		t.Errorf("what somebody else wrote was replaced: %+v, %q", out, read())
	}
	if entries, err := os.ReadDir(filepath.Dir(s.Path)); err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v (%v)", entries, err)
	}
}

const complete = `version: 1
job: visits
dataset:
  id: visits
  source: {path: visits.csv}
  relation: add-remove
  unit: {column: patient, name: patient}
  cap: {groups: 1, rows: 2}
  columns:
    region: {domain: [north, south], missing: drop, outside: drop}
    cost: {lower: 0, upper: 1000, missing: drop, assume: {mean: 300, sd: 100}}
    day: {type: date}
budget:
  limit: {epsilon: "1"}
releases:
  - {name: visits, mechanism: count, by: [region], where: "cost > 100", guarantee: {epsilon: "0.2"}}
  - {name: costs, mechanism: mean, params: {column: cost}, guarantee: {epsilon: "0.3"}}
output: {dir: out}
`

// A picture is made from invented rows: the table of the job need not exist, its ledger is not made, and its account is not charged.
func TestPictureIsInvented(t *testing.T) {
	s, h := session(t, "job.yaml", complete)
	text, _, err := s.Start()
	if err != nil {
		t.Fatal(err)
	}
	_, out := post(h, "picture", question{Text: text})
	if out.Failed || strings.Count(out.Part, "<svg") != 2 || strings.Count(out.Part, `class="thin"`) != 3 || strings.Count(out.Part, "INVENTED") != 2 {
		t.Fatalf("%s\n%s", out.Message, out.Part)
	}
	_, labelled := post(h, "picture", question{Text: text + "publication: {labels: {visits: Visits of a year, north: The north}}\n"})
	if !strings.Contains(labelled.Part, "<h4>Visits of a year</h4>") || !strings.Contains(labelled.Part, `<th scope="row">The north</th>`) ||
		strings.Contains(labelled.Part, "\u202f-") || strings.Contains(labelled.Part, "\u202f–") { // a noise of −816, from an end that is blank
		t.Errorf("no labels: %s", labelled.Part)
	}
	if entries, err := os.ReadDir(filepath.Dir(s.Path)); err != nil || len(entries) != 1 {
		t.Errorf("the folder of the job holds %v (%v)", entries, err)
	}
	j, err := s.read(text)
	if err != nil {
		t.Fatal(err)
	}
	// The broken twins of what keeps a job's own table, ledger and output away: one change less.
	dir := t.TempDir()
	rows, err := inventRows(&j.Dataset, 20)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "invented.csv"), rows, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, back := range []Change{
		{Path: []string{"dataset", "source"}, Value: "{path: visits.csv}"}, {Path: []string{"budget", "ledger"}}, {Path: []string{"budget", "ledger"}, Value: "sqlite:other.db"}, {Path: []string{"output"}, Value: "{dir: out}"},
	} {
		if _, err := s.runInvented(t.Context(), text, j, dir, "noisy", 20, back); err != errOwn {
			t.Errorf("with %+v: %v", back, err)
		}
	}
}

// What the page says is what check and plan say; ε moves it.
func TestNumbersAreThePlans(t *testing.T) {
	tier.Full(t, "TestPictureIsInvented plans a job, too")
	s, h := session(t, "job.yaml", complete)
	for epsilon, want := range map[string]string{"0.2": "ε 0.5, δ 0", "0.4": "ε 0.7, δ 0"} {
		_, out := post(h, "edit", question{Text: complete, Actions: []Action{{Name: "set/releases/0/guarantee/epsilon", Value: epsilon}}})
		f := s.look(t.Context(), out.Text)
		if f.report == nil || !strings.Contains(out.Form, want) || !strings.Contains(out.Form, f.briefs["visits"].Noise) || f.briefs["visits"].Noise == "" {
			t.Errorf("ε %s: %v", epsilon, f.problems)
		}
	}
	_, out := post(h, "edit", question{Text: complete, Actions: []Action{{Name: "set/releases/0/guarantee/epsilon", Value: "0.8"}}})
	if len(out.Lines) == 0 || !strings.Contains(out.Lines[0].Message, "budget") {
		t.Errorf("above the limit: %+v", out.Lines)
	}
}

// Both languages have the same texts, each with the same blanks, and the page has no text that is missing.
func TestTexts(t *testing.T) {
	en := catalogues()["en"]
	for _, name := range sentence.Languages {
		w := catalogues()[name]
		for key, text := range en.Texts {
			if other, ok := w.Texts[key]; !ok || strings.Count(other, "%s") != strings.Count(text, "%s") || strings.Count(other, "%d") != strings.Count(text, "%d") {
				t.Errorf("%s: %s is %q, in English %q", name, key, other, text)
			}
		}
		if len(w.Texts) != len(en.Texts) {
			t.Errorf("%s has %d texts, English %d", name, len(w.Texts), len(en.Texts))
		}
		for mechanism := range described() {
			if w.Or("mechanism."+mechanism, "") == "" {
				t.Errorf("%s has no word for %s", name, mechanism)
			}
		}
	}
	// T answers with the name where a text is missing.
	missing := (&words{&sentence.Words{}}).T("step1")
	s, _ := session(t, "job.yaml", complete)
	out, err := s.show(t.Context(), en, complete)
	if err != nil || missing != "step1" {
		t.Fatal(err)
	}
	for key := range en.Texts {
		if strings.Contains(key, ".") && strings.Contains(out.Form, ">"+key+"<") {
			t.Errorf("the page says %s", key)
		}
	}
}

// A heading with semicolons writes the delimiter, and the page has fields for what a header cannot tell. What the names and
// types of the columns say against the job is a problem; without the contradiction there is none.
func TestHeaderOfAFile(t *testing.T) {
	s, h := session(t, "job.yaml", "")
	file := filepath.Join(filepath.Dir(s.Path), "visits.csv")
	if err := os.WriteFile(file, []byte("patient;region;cost;day\n1;north;1,5;01.02.2026\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, out := post(h, "header", question{Text: "dataset: {source: {path: visits.csv}}\nreleases: []\n"})
	if !strings.Contains(out.Text, `delimiter: ';'`) || !strings.Contains(out.Form, "Decimal sign") || !strings.Contains(out.Form, ">02.01.2006<") {
		t.Fatalf("%s\n%s", out.Text, out.Form)
	}
	for _, a := range []Action{{pointer("text", "dataset", "source", "decimal"), ","}, {pointer("text", "dataset", "source", "dates"), "02.01.2006"}} {
		if _, out = post(h, "edit", question{Text: out.Text, Actions: []Action{a}}); out.Failed {
			t.Fatal(out.Message)
		}
	}
	if !strings.Contains(out.Text, "decimal: ','") || !strings.Contains(out.Text, "dates: 02.01.2006") || !strings.Contains(out.Form, "<details open>") {
		t.Errorf("%s", out.Text)
	}
	says := func(text, want string) bool {
		_, out := post(h, "edit", question{Text: text})
		for _, l := range out.Lines {
			if strings.Contains(l.Message, want) && l.Line > 0 {
				return true
			}
		}
		return false
	}
	sound := strings.ReplaceAll(complete, "{path: visits.csv}", `{path: visits.csv, delimiter: ";"}`)
	const missing, otherwise = "the table has no such column", "the first line of the table says otherwise"
	if says(sound, missing) || says(sound, otherwise) {
		t.Error("a sound job has a problem")
	}
	if !says(strings.Replace(sound, "    cost: {", "    costs: {", 1), "dataset.columns.costs: "+missing) ||
		!says(strings.Replace(sound, "column: patient", "column: person", 1), "dataset.unit.column: "+missing) || !says(complete, otherwise) {
		t.Error("the page finds no problem")
	}
}

// A mean is offered of numbers alone, statistics stand by family, and each is offered once.
func TestWhatIsOffered(t *testing.T) {
	s, _ := session(t, "job.yaml", complete)
	out, err := s.show(t.Context(), catalogues()["en"], complete)
	if err != nil {
		t.Fatal(err)
	}
	_, mean, _ := strings.Cut(out.Form, `name="text/releases/1/params/column"`)
	mean, _, _ = strings.Cut(mean, "</select>")
	if !strings.Contains(mean, `"cost"`) || strings.Contains(mean, `"region"`) || strings.Contains(mean, `"day"`) {
		t.Errorf("a mean is offered of %s", mean)
	}
	_, add, _ := strings.Cut(out.Form, `id="add"`)
	add, _, _ = strings.Cut(add, "</select>")
	counts, sums := strings.Index(add, `label="Counts"`), strings.Index(add, `label="Totals, means and shares"`)
	for name := range described() {
		if strings.Count(add, `value="`+name+`"`) != 1 {
			t.Errorf("%s is offered %d times", name, strings.Count(add, `value="`+name+`"`))
		}
	}
	if strings.Count(add, "<optgroup") != len(families) || counts < 0 || sums < counts {
		t.Errorf("the statistics are %s", add)
	}
}

// The labels of large totals do not touch one another.
func TestLabelsOfLargeTotals(t *testing.T) {
	p := &invented{words: catalogues()["en"], Tables: []inventedTable{{Name: "t", Cells: []inventedCell{{Label: "all", Value: 123_456_789_012_345, Low: 99e12, High: 150e12}}}}}
	end := -1.0
	labels := regexp.MustCompile(`<text x="([0-9.]+)" y="[0-9.]+" class="small middle">([0-9]+)</text>`).FindAllStringSubmatch(string(p.Figure(0)), -1)
	for _, m := range labels {
		x, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		half := figure.TextWidth(m[2]) / 2
		if x-half < end+4 {
			t.Errorf("the label %s begins at %v, the one before it ends at %v", m[2], x-half, end)
		}
		end = x + half
	}
	if len(labels) < 2 {
		t.Errorf("there are no labels: %s", p.Figure(0))
	}
}
