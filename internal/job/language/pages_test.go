package language

import (
	"bytes"
	"encoding/json"
	arguments "flag"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
)

var update = arguments.Bool("update", false, "write the JSON Schema and docs/what-goes-together.md")

// TestPages compares the files that follow from the declarations with them. lab/jobpages does so for docs/job.md.
func TestPages(t *testing.T) {
	for path, text := range map[string]string{"specs/job-v1.schema.json": wholeSchema(t), "docs/what-goes-together.md": togetherPage()} {
		path = "../../../" + path
		if *update {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Error(err)
			}
		}
		if old, err := os.ReadFile(path); err != nil || string(old) != text {
			t.Errorf("%s is old: go generate ./internal/job/language (%v)", path, err)
		}
	}
}

// wholeSchema is the JSON Schema (2020-12) of the job language, for editors. It says
// what one key may hold, and which keys do not go together; what else keys say about each other only Check knows.
func wholeSchema(t *testing.T) string {
	t.Helper()
	root := maps.Clone(language().schema)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"] = "https://github.com/dprelease/dprelease/specs/job-v1.schema.json"
	root["$defs"] = schema{"variable": schema{"type": "string", "pattern": reference.String(),
		"description": "A variable that the job declares under variables"}}
	root["title"] = "dprelease job, version 1"
	root["allOf"] = apartSchemas()
	root["description"] = "What to release from a table, at which cost in privacy."
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// apartSchemas are the rows that a JSON Schema can tell.
func apartSchemas() (all []schema) {
	for i := range notTogether {
		row := &notTogether[i]
		for _, what := range row.what {
			for _, with := range row.with {
				if what.schema == nil || with.schema == nil {
					continue
				}
				other := with.schema
				if row.without {
					other = schema{"not": other}
				}
				all = append(all, schema{"not": schema{"allOf": []schema{what.schema, other}},
					"description": row.sentence(what, with, "") + "; " + row.instead})
			}
		}
	}
	return all
}

// togetherPage is the page of what does not go together, in Markdown: a line for each row of the table.
func togetherPage() string {
	names := func(all []*capability) string {
		var texts []string
		for _, c := range all {
			texts = append(texts, c.name)
		}
		return "**" + strings.Join(texts, "**; **") + "**"
	}
	var b strings.Builder
	b.WriteString("# What does not go together\n\n`dprelease check` refuses a job that has one thing of each side. " +
		"After an arrow stands what to do instead of leaving out the first. Written by `go generate ./internal/job/language`.\n\n")
	for _, row := range notTogether {
		goes := "with"
		if row.without {
			goes = "without"
		}
		fmt.Fprintf(&b, "- %s %s %s: %s%s\n", names(row.what), goes, names(row.with), row.why,
			strings.TrimSuffix(" → "+row.instead, " → "+leaveOut))
	}
	return b.String()
}
