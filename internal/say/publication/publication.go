package publication

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/job/lang"
	"github.com/dprelease/dprelease/internal/job/params"
	"github.com/dprelease/dprelease/internal/output/stored"
	"github.com/dprelease/dprelease/internal/say/problem"
	"github.com/dprelease/dprelease/report"
	"github.com/dprelease/dprelease/specs"
)

// maxWords bounds a file of words, in bytes.
const maxWords = 4 << 20

// language is the job's schema for the words of a publication, with the keys of a job.
type language struct {
	words *params.Schema
	keys  []string
}

var jobLanguage = sync.OnceValues(func() (language, error) {
	text, err := specs.FS.ReadFile("job-v1.schema.json")
	if err != nil {
		return language{}, err
	}
	var job struct {
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(text, &job); err != nil {
		return language{}, err
	}
	if text, err = json.Marshal(written(job.Properties["publication"])); err != nil {
		return language{}, err
	}
	schema, err := params.Compile(text)
	return language{schema, slices.Sorted(maps.Keys(job.Properties))}, err
})

// written returns a schema that allows no variable in the place of a value.
func written(schema any) any {
	m, ok := schema.(map[string]any)
	if !ok {
		return schema
	}
	out := map[string]any{}
	for key, v := range m {
		all, ok := v.([]any)
		if key != "anyOf" || !ok {
			out[key] = written(v)
			continue
		}
		for _, one := range all {
			if one, ok := one.(map[string]any); ok && one["$ref"] == nil {
				maps.Copy(out, one)
			}
		}
	}
	return out
}

// Read reads the words of a publication from the key publication of a YAML file. What else the file says is not looked at. An error
// is a stored.Error.
func Read(path string) (*report.Publication, error) {
	l, err := jobLanguage()
	if err != nil {
		return nil, &stored.Error{Code: "REPORT", Message: err.Error()}
	}
	text, err := file.Read(path, maxWords)
	if err != nil {
		return nil, &stored.Error{Code: "JOB_UNREADABLE", Message: path + " cannot be read"}
	}
	r := lang.NewReader(path, lang.Words{Language: "the job language", What: "a job file", Holds: "job",
		Start: "write publication and its words", Advice: "name a file with the words alone", Keys: l.keys},
		lang.Limits{Bytes: maxWords, Marks: 200_000, Expanded: 10_000, Problems: 20})
	words := take(r, r.Document(text))
	if len(r.Problems) == 0 {
		check(r, l.words, words)
	}
	if len(r.Problems) > 0 {
		return nil, &stored.Error{Code: "INVALID_JOB", Message: r.Problems.Sort().Error()}
	}
	b, err := json.Marshal(words)
	p := &report.Publication{Anew: true}
	if err := errors.Join(err, json.Unmarshal(b, p)); err != nil {
		return nil, &stored.Error{Code: "REPORT", Message: "the words cannot be taken"}
	}
	return p, nil
}

// take returns the words below the key publication.
func take(r *lang.Reader, root *yaml.Node) map[string]any {
	if root == nil {
		return nil
	}
	top, _ := r.Pairs(lang.Place{At: root, Node: root})
	k := slices.IndexFunc(top, func(p lang.Place) bool { return p.Path == "publication" })
	if k < 0 {
		if len(r.Problems) == 0 {
			r.Wrong(lang.Place{At: root}, "write publication and its words", "has no publication")
		}
		return nil
	}
	p := top[k]
	if !r.Open(&p) {
		return nil
	}
	words := map[string]any{}
	pairs, _ := r.Pairs(p)
	for _, p := range pairs {
		words[strings.TrimPrefix(p.Path, "publication.")] = value(r, p)
	}
	return words
}

// value returns a text, texts by their names, a list of texts, or what else stands at a place, for the schema to refuse.
func value(r *lang.Reader, p lang.Place) any {
	if !r.Open(&p) {
		return nil
	}
	if p.Node.Kind == yaml.MappingNode {
		all := map[string]any{}
		pairs, _ := r.Pairs(p)
		for _, one := range pairs {
			all[one.At.Value] = value(r, one)
		}
		return all
	}
	if p.Node.Kind == yaml.SequenceNode {
		all := []any{}
		for i, n := range p.Node.Content {
			all = append(all, value(r, lang.Place{Path: problem.Item(p.Path, i), At: n, Node: n}))
		}
		return all
	}
	if p.Node.Kind == yaml.ScalarNode && p.Node.Tag == "!!str" {
		if strings.Contains(p.Node.Value, "$(") {
			r.Wrong(p, "name a file with the words alone, written out", "has a variable, and only a run knows its value")
		}
		return p.Node.Value
	}
	if p.Node.Kind != yaml.ScalarNode {
		return map[string]any{}
	}
	return 0 // a number, a truth value or a day, which want quotes
}

// check holds the words to the schema of the job.
func check(r *lang.Reader, schema *params.Schema, words map[string]any) {
	b, err := json.Marshal(words)
	if err == nil {
		err = schema.Validate(b)
	}
	var problems params.Problems
	switch {
	case errors.As(err, &problems):
		for _, p := range problems {
			path := "publication"
			if len(p.Path) > 0 {
				path = problem.Key(path, p.Path[0])
			}
			r.WrongAt(r.Places[path], path, "see dprelease schema", "%s", p.Message)
		}
	case err != nil:
		r.Wrong(lang.Place{Path: "publication"}, "", "cannot be taken")
	}
}
