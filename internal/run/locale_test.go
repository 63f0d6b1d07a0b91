package run

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/specs"
)

// The job knows the encodings and the forms of days that the reader of CSV files knows, and no others.
func TestJobAndReaderKnowTheSame(t *testing.T) {
	text, err := specs.FS.ReadFile("job-v1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	type node struct {
		Enum  []string
		AnyOf []struct{ Enum []string }
	}
	var job struct {
		Properties struct {
			Dataset struct {
				Properties struct {
					Source struct{ Properties map[string]json.RawMessage }
				}
			}
		}
	}
	if err := json.Unmarshal(text, &job); err != nil {
		t.Fatal(err)
	}
	source := job.Properties.Dataset.Properties.Source
	for key, want := range map[string][]string{"encoding": table.Encodings, "dates": table.DateForms} {
		var n node
		if err := json.Unmarshal(source.Properties[key], &n); err != nil {
			t.Fatal(err)
		}
		got := n.Enum
		for _, one := range n.AnyOf {
			got = append(got, one.Enum...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the job has %q, the reader %q", key, got, want)
		}
	}
}
