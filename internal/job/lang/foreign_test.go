package lang

import (
	"strings"
	"testing"
)

// A text that is none of the language may hold somebody's row: no problem quotes it. // P33
func TestForeign(t *testing.T) {
	words := Words{Language: "the job language", What: "a job file", Start: "see the examples", Keys: []string{"version", "job", "dataset", "budget", "releases", "output"}}
	for text, looks := range map[string]string{
		"name;diag\nMaria CANARY;HIV\n":                  "a CSV file",
		"name,diag\nMaria CANARY,HIV\nJan,Flu\n":         "a CSV file",
		"Maria CANARY\n":                                 "text of another kind",
		"Maria: CANARY\nJan: HIV\n":                      "text of another kind",
		"job: CANARY\nname: Maria\nill: HIV\nage: 9\n":   "hardly one of its keys",
		"CANARY: &x {a: *CANARY}\n":                      "text of another kind",
		"*CANARY\n":                                      "text of another kind",
		`{"name": "CANARY"}`:                             "JSON of another kind",
		"{\"name\": \"CANARY\"}\n{\"name\": \"b\"}\n":    "JSON of another kind",
		`[{"job": "CANARY"}, CANARY]`:                    "JSON of another kind",
		"PAR1CANARY\x00\x01":                             "a Parquet file",
		"CANARY\x00\x01":                                 "binary data",
		"<html>CANARY</html>":                            "HTML or XML",
		"Maria CANARY, born 1980: HIV, see %x\n\tCANARY": "text of another kind",
	} {
		r := NewReader("f", words, Limits{Bytes: 1 << 20, Marks: 1000, Expanded: 1000})
		if root := r.Document([]byte(text)); root != nil {
			t.Errorf("%q is read", text)
		}
		told := r.Problems.Error()
		if strings.Contains(told, "CANARY") || strings.Contains(told, "Maria") || !strings.Contains(told, looks) || len(r.Problems) != 1 {
			t.Errorf("%q: told %s, want %s", text, told, looks)
		}
	}
	for _, text := range []string{"version: 1\nx: y\n", "# words\nversoin: 1\n", `{"version": 1}`, "{\n \"version\": 1\n}"} {
		r := NewReader("f", words, Limits{Bytes: 1 << 20, Marks: 1000, Expanded: 1000})
		if r.Document([]byte(text)) == nil {
			t.Errorf("%q: %v", text, r.Problems)
		}
	}
}
