package account

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/expr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const sgd = `{"relation":"add-remove","event":{"repeat":{"n":1000,"event":{"poisson":{"rate":0.01,"event":{"gaussian":{"sigma":1}}}}}},"query":{"delta":1e-6,"methods":["rdp"]}}`

func run(in string, o Options) (code int, out, errs string) {
	var w, e bytes.Buffer
	code = Run(strings.NewReader(in), &w, &e, o)
	return code, w.String(), e.String()
}

// TestExitCodes has every way in and every way to fail; a failure prints
// nothing to the output.
func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "q.json")
	if err := os.WriteFile(file, []byte(sgd), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		in   string
		o    Options
		code int
		errs string
	}{
		{sgd, Options{}, 0, ""},
		{sgd, Options{File: "-"}, 0, ""},
		{sgd, Options{Expr: "-"}, 0, ""},
		{"", Options{Expr: sgd}, 0, ""},
		{"", Options{Expr: sgd, JSON: true}, 0, ""},
		{"", Options{File: file}, 0, ""},
		{"", Options{Expr: file}, 0, ""},
		{sgd + "\n", Options{JSONL: true}, 0, ""},
		{sgd + "\n", Options{JSONL: true, File: file}, 0, ""},
		{"", Options{JSONL: true}, 0, ""},
		{"nonsense\n", Options{JSONL: true}, 0, ""},
		{"", Options{Expr: sgd, File: file}, 2, "an expression and a file are both given"},
		{"", Options{Expr: sgd, JSON: true, JSONL: true}, 2, "--json and --jsonl exclude each other"},
		{"", Options{Expr: sgd, JSONL: true}, 2, "--jsonl reads its questions from standard input or a file"},
		{"", Options{File: filepath.Join(dir, "none.yaml")}, 2, "none.yaml: cannot be read: no such file"},
		{"", Options{File: dir}, 2, "cannot be read: is a folder, not a file"},
		{"", Options{}, 3, "stdin:1:1: is empty (write relation, event and query)"},
		{"relation: add-remove\nevent: {gaussian: {sigma: 0}}\nquery: {delta: 1e-6}\n", Options{}, 3, "stdin:2:27: event.gaussian.sigma: must be above 0"},
		{"", Options{Expr: "nonsense"}, 3, "argument:1:1: is not a question: it looks like text"},
		{"", Options{Expr: `{relation: add-remove, event: {repeat: {n: 1e13, event: {pure: {eps: 1}}}}, query: {delta: 0}}`}, 3, "argument:1:44: event.repeat.n: must lie between"},
		{strings.Repeat(" ", expr.MaxBytes+10) + sgd, Options{}, 3, "is larger than 1 MB"},
		{"", Options{Expr: `{relation: add-remove, event: {compose: [{pure: {eps: 5}}, {repeat: {event: {pure: {eps: 1}}}}]}, ` +
			`query: {calibrate: n, epsilon: 1, delta: 0, methods: [basic]}}`}, 3,
			"argument:1:118: query.calibrate: no compose[1].repeat.n between 1 and 1e12 meets (ε = 1, δ = 0)"},
	} {
		code, out, errs := run(c.in, c.o)
		if code != c.code || !strings.Contains(errs, c.errs) || (c.errs == "") != (errs == "") {
			t.Errorf("%+v: exit %d, want %d; told %q, want %q", c.o, code, c.code, errs, c.errs)
		}
		if code != 0 && out != "" {
			t.Errorf("%+v failed and printed %q", c.o, out)
		}
	}
}

// TestErrorObject: with --json a program reads the problem where it would have
// read the answer.
func TestErrorObject(t *testing.T) {
	code, out, errs := run("", Options{Expr: `{relation: add-remove, event: {gaussian: {sigm: 0}}, query: {delta: 1e-6}}`, JSON: true})
	want := `{"error":"argument:1:42: event.gaussian.sigma: is missing; argument:1:43: event.gaussian.sigm: unknown field (did you mean sigma?)"}` + "\n"
	if code != ExitInvalid || out != want || errs != "" {
		t.Errorf("exit %d, %s, %s", code, out, errs)
	}
	code, out, _ = run("", Options{Expr: `{relation: add-remove, event: {pure: {}}, query: {calibrate: eps, epsilon: 1e-300, delta: 0, methods: [basic]}}`, JSON: true})
	if code != ExitInvalid || !strings.HasPrefix(out, `{"error":"argument:1:62: query.calibrate: no pure.eps between`) {
		t.Errorf("exit %d, %s", code, out)
	}
}

// TestObject holds the fields of --json, no more and no less.
func TestObject(t *testing.T) {
	const head = `{"relation":"add-remove","event":{"gaussian":{"sigma":2}},"query":`
	always := []string{"relation", "epsilon", "delta", "lower", "upper", "method", "methods", "unsupported", "claimed"}
	for query, extra := range map[string][]string{
		`{"delta":1e-6,"methods":["basic","rdp"]}`:                                 nil,
		`{"epsilon":1,"methods":["basic"]}`:                                        nil,
		`{"calibrate":"sigma","epsilon":1,"delta":1e-6,"methods":["basic","rdp"]}`: {"calibrated"},
		`{"delta":0,"methods":["rdp"]}`:                                            {"reason"},
	} {
		code, out, errs := run("", Options{Expr: head + query + "}", JSON: true})
		if code != 0 {
			t.Errorf("%s: %s", query, errs)
			continue
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatal(err)
		}
		if len(got) != len(always)+len(extra) {
			t.Errorf("%s: fields %s", query, out)
		}
		for _, field := range append(extra, always...) {
			if len(got[field]) == 0 {
				t.Errorf("%s: no field %s in %s", query, field, out)
			}
		}
		for _, field := range []string{"unsupported", "claimed"} {
			if got[field][0] != '[' {
				t.Errorf("%s: %s is %s, not a list", query, field, got[field])
			}
		}
	}
}

func TestInfiniteIsNullWithAReason(t *testing.T) {
	for text, delta := range map[string]float64{
		`{relation: add-remove, event: {approx: {eps: 1, delta: 1e-5}}, query: {delta: 1e-6}}`: 1e-6,
		`{relation: add-remove, event: {gaussian: {sigma: 2}}, query: {delta: 0}}`:             0,
	} {
		_, out, _ := run("", Options{Expr: text, JSON: true})
		var got struct {
			Epsilon, Upper *float64
			Method         *string
			Delta          float64
			Reason         string
			Unsupported    []struct{ Method, Reason string }
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatal(err)
		}
		if got.Epsilon != nil || got.Upper != nil || got.Method != nil || got.Delta != delta || got.Reason == "" || len(got.Unsupported) == 0 {
			t.Errorf("got %s", out)
		}
		for _, u := range got.Unsupported {
			if u.Method == "" || u.Reason == "" {
				t.Errorf("a refusal without a reason: %+v", u)
			}
		}
	}
}

// TestNumbersKeepEveryDigit compares --json with the library.
func TestNumbersKeepEveryDigit(t *testing.T) {
	e := privacy.Repeat{N: 1000, Event: privacy.Poisson{Rate: 0.01, Event: privacy.Gaussian{Sigma: 1}}}
	want, err := privacy.EpsilonWith(e, privacy.AddRemove, 1e-6, privacy.Options{Methods: []string{"rdp"}})
	if err != nil {
		t.Fatal(err)
	}
	_, out, _ := run(sgd, Options{JSON: true})
	var got struct {
		Epsilon, Lower, Upper, Delta float64
		Method                       string
		Methods                      map[string]float64
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got.Epsilon != want.Epsilon || got.Upper != want.Upper || got.Lower != want.Lower || got.Delta != 1e-6 ||
		got.Method != "rdp" || got.Methods["rdp"] != want.Methods["rdp"].Epsilon || len(got.Methods) != 1 {
		t.Errorf("got %s, want %+v", out, want)
	}
}

// TestMethodNames: the names that a question may give are the ones that the
// calculus knows.
func TestMethodNames(t *testing.T) {
	a, err := privacy.EpsilonAt(privacy.Pure{Eps: 1}, privacy.AddRemove, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for m := range a.Methods {
		known[m] = true
	}
	for _, u := range a.Unsupported {
		known[u.Method] = true
	}
	for _, list := range [][]string{expr.MethodNames} {
		if len(list) != len(known) {
			t.Errorf("%v, and the calculus knows %v", list, known)
		}
		for _, m := range list {
			if !known[m] {
				t.Errorf("the calculus does not know %s", m)
			}
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestAnswerThatCannotBeWritten(t *testing.T) {
	for _, o := range []Options{{}, {JSON: true}, {JSONL: true}} {
		var errs bytes.Buffer
		if code := Run(strings.NewReader(sgd), brokenWriter{}, &errs, o); code != ExitFailed || !strings.Contains(errs.String(), "cannot be written: broken pipe") {
			t.Errorf("%+v: exit %d, %s", o, code, &errs)
		}
	}
}

type brokenReader struct{ first io.Reader }

func (b brokenReader) Read(p []byte) (int, error) {
	n, err := b.first.Read(p)
	if err == io.EOF {
		err = errors.New("unplugged")
	}
	return n, err
}

func TestQuestionThatCannotBeRead(t *testing.T) {
	for _, o := range []Options{{}, {JSONL: true}} {
		var out, errs bytes.Buffer
		code := Run(brokenReader{strings.NewReader(sgd + "\n")}, &out, &errs, o)
		if code != ExitUsage || !strings.Contains(errs.String(), "stdin: cannot be read: unplugged") {
			t.Errorf("%+v: exit %d, %s", o, code, &errs)
		}
		if o.JSONL && strings.Count(out.String(), "\n") != 1 {
			t.Errorf("what was read before was not answered: %q", &out)
		}
	}
}

// A program that asked for JSON gets JSON where the file cannot be read, too.
func TestUnreadableFileAsJSON(t *testing.T) {
	var out, errw bytes.Buffer
	code := Run(strings.NewReader(""), &out, &errw, Options{File: filepath.Join(t.TempDir(), "nowhere.yaml"), JSON: true})
	var answer struct{ Error string }
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil || code != ExitUsage || errw.Len() > 0 || !strings.Contains(answer.Error, "nowhere.yaml") {
		t.Errorf("exit %d, %q, %q, %v", code, out.String(), errw.String(), err)
	}
}
