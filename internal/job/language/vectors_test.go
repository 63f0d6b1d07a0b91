package language_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/specs"
)

var builtins = []string{"count", "mean", "median", "randomized-response", "regression", "sgd"}

// vector is one file of specs/vectors/job.
type vector struct {
	name, about, expect, digest, schema string
	env, set                            map[string]string
	problems                            []string
	text                                []byte
}

// vectors reads the corpus; an empty corpus, a short one and an unknown header fail.
func vectors(t testing.TB) []vector {
	t.Helper()
	names, err := fs.Glob(specs.FS, "vectors/job/*")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) < 60 {
		t.Fatalf("%d vectors in specs/vectors/job, want at least 60", len(names))
	}
	var out []vector
	for _, n := range names {
		data, err := specs.FS.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		v, err := parseVector(data)
		if err != nil {
			t.Fatalf("%s: %v", n, err)
		}
		v.name = strings.TrimSuffix(path.Base(n), ".txtar")
		out = append(out, v)
	}
	return out
}

func parseVector(data []byte) (vector, error) {
	v := vector{env: map[string]string{}, set: map[string]string{}}
	a := txtar.Parse(data)
	if len(a.Files) != 1 || a.Files[0].Name != "job.yaml" {
		return v, errors.New("want one file, job.yaml")
	}
	v.text = a.Files[0].Data
	for _, line := range strings.Split(strings.TrimSpace(string(a.Comment)), "\n") {
		key, value, ok := strings.Cut(line, ": ")
		if !ok {
			return v, fmt.Errorf("header %q is not key: value", line)
		}
		switch key {
		case "about":
			v.about = value
		case "expect":
			v.expect = value
		case "digest":
			v.digest = value
		case "schema":
			v.schema = value
		case "problem":
			v.problems = append(v.problems, value)
		case "set":
			name, val, ok := strings.Cut(value, "=")
			if !ok {
				return v, fmt.Errorf("set %q is not NAME=value", value)
			}
			v.set[name] = val
		case "env":
			name, val, ok := strings.Cut(value, "=")
			if !ok {
				return v, fmt.Errorf("env %q is not NAME=value", value)
			}
			if strings.HasPrefix(val, `"`) {
				var err error
				if val, err = strconv.Unquote(val); err != nil {
					return v, fmt.Errorf("env %s: %w", name, err)
				}
			}
			v.env[name] = val
		default:
			return v, fmt.Errorf("unknown header %q", key)
		}
	}
	if v.about == "" {
		return v, errors.New("about is missing")
	}
	switch v.expect {
	case "ok":
		if len(v.problems) > 0 || v.digest == "" {
			return v, errors.New("ok wants a digest and no problems")
		}
	case "load", "check":
		if len(v.problems) == 0 || v.digest != "" {
			return v, errors.New("a vector with problems wants them listed, and no digest")
		}
	default:
		return v, fmt.Errorf("unknown expect %q", v.expect)
	}
	return v, nil
}

func (v vector) options() language.Options {
	return language.Options{Mechanisms: builtins, Set: v.set, Getenv: func(n string) (string, bool) { s, ok := v.env[n]; return s, ok }}
}

func TestVectors(t *testing.T) {
	for _, v := range tier.Some(vectors(t), 3) {
		t.Run(v.name, func(t *testing.T) {
			j, err := language.Parse("job.yaml", v.text, v.options())
			checkOutcome(t, v, j, err)
		})
	}
}

func checkOutcome(t *testing.T, v vector, j *job.Job, err error) {
	t.Helper()
	if v.expect == "ok" {
		if err != nil {
			t.Fatalf("want no problem, got\n%v", err)
		}
		if got := j.Digest(); got != v.digest || len(got) != 64 {
			t.Fatalf("digest is %q, want %s", got, v.digest)
		}
		return
	}
	var problems job.Problems
	if !errors.As(err, &problems) {
		t.Fatalf("want problems, got %v", err)
	}
	first := language.StepCheck
	var got []string
	for _, p := range problems {
		if p.Step == language.StepLoad {
			first = language.StepLoad
		}
		got = append(got, strings.TrimPrefix(strings.TrimPrefix(p.Error(), "job.yaml:"), " "))
		for name, val := range v.env {
			if len(val) > 2 && strings.Contains(p.Error(), val) {
				t.Errorf("the value of %s is repeated: %s", name, p.Error())
			}
		}
	}
	if string(first) != v.expect {
		t.Errorf("first step with a problem is %s, want %s", first, v.expect)
	}
	for i, w := range v.problems { // one that ends in … stands for any that begins so
		if begin, open := strings.CutSuffix(w, "…"); open && i < len(got) && strings.HasPrefix(got[i], begin) {
			got[i] = w
		}
	}
	if g, w := strings.Join(got, "\n"), strings.Join(v.problems, "\n"); g != w {
		t.Errorf("problems are\n%s\nwant\n%s", g, w)
	}
}

// The line ends and a byte order mark make no difference.
func TestVectorsWithOtherLineEnds(t *testing.T) {
	n := 0
	for _, v := range vectors(t) {
		if v.expect != "ok" || bytes.Contains(v.text, []byte("\r")) {
			continue
		}
		n++
		text := bytes.ReplaceAll(v.text, []byte("\n"), []byte("\r\n"))
		j, err := language.Parse("job.yaml", append([]byte("\uFEFF"), text...), v.options())
		checkOutcome(t, v, j, err)
	}
	if n == 0 {
		t.Fatal("no vector was tried")
	}
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := specs.FS.ReadFile("job-v1.schema.json") // TestPages finds an old one
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("job.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("job.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON returns a YAML file as an editor sees it.
func asJSON(text []byte) (any, error) {
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		return nil, err
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(b))
}

// The JSON Schema agrees with the reader wherever it can know.
func TestVectorsAgainstSchema(t *testing.T) {
	s := compileSchema(t)
	for _, v := range vectors(t) {
		t.Run(v.name, func(t *testing.T) {
			want := v.schema
			switch {
			case want == "none":
				return
			case want == "" && v.expect == "load":
				want = "rejects"
			case want == "":
				want = "accepts"
			}
			doc, err := asJSON(v.text)
			if err != nil {
				t.Fatalf("is not JSON: %v", err)
			}
			err = s.Validate(doc)
			if got := map[bool]string{true: "accepts", false: "rejects"}[err == nil]; got != want {
				t.Errorf("the schema %s the file, want %s (%v)", got, want, err)
			}
		})
	}
}

// A limit under which an account promises next to nothing is doubted, and one that offices take is not.
func TestDoubtedLimits(t *testing.T) {
	for limit, want := range map[string]string{
		`{epsilon: "3", delta: "1e-6"}`: "", `{rho: "0.5"}`: "", `{epsilon: "1000"}`: "budget.limit.epsilon: protects hardly anybody",
		`{epsilon: "1", delta: "0.5"}`: "budget.limit.delta: lets all about a unit be published", `{rho: "9"}`: "budget.limit.rho: protects hardly anybody",
	} {
		text := strings.Replace(oneTable, `{epsilon: "3", delta: "1e-6"}`, limit, 1)
		j, err := language.Parse("job.yaml", []byte(text), language.Options{Mechanisms: builtins})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		got := ""
		for _, d := range language.Doubts(j) {
			got += d.Error()
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q", limit, got)
		}
	}
}

// Days are no bounds, and the message says what to do with them.
func TestDaysAreNoBounds(t *testing.T) {
	_, err := language.Parse("job.yaml", []byte(strings.Replace(oneTable, "lower: 0", "lower: 2026-01-31", 1)), language.Options{Mechanisms: builtins})
	if err == nil || !strings.Contains(err.Error(), "say type: date for a column of days, and cut it with bins") {
		t.Error(err)
	}
}
