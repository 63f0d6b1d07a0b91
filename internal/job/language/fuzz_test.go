package language_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// FuzzParse feeds anything to the reader: it must answer with a job or with
// problems that can be printed, and never panic. A job without problems has
// everything that its users rely on.
func FuzzParse(f *testing.F) {
	for _, v := range tier.Some(vectors(f), 10) {
		f.Add(v.text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		j, err := language.Parse("job.yaml", text, language.Options{Mechanisms: builtins, Getenv: func(string) (string, bool) { return "x", true }})
		if err != nil {
			var problems job.Problems
			if !errors.As(err, &problems) || len(problems) == 0 {
				t.Fatalf("got %v", err)
			}
			for _, p := range problems {
				if p.Message == "" || !utf8.ValidString(p.Error()) || strings.ContainsAny(p.Error(), "\n\x1b\x00") {
					t.Fatalf("cannot be printed: %q", p.Error())
				}
			}
			return
		}
		if len(j.Digest()) != 64 {
			t.Fatal("no digest")
		}
		if !j.Dataset.Relation.Valid() || len(j.Releases) == 0 || j.Name == "" || (j.Budget.Limit.Epsilon == nil) == (j.Budget.Limit.Rho == nil) || j.Budget.Limit.Delta == nil {
			t.Fatalf("incomplete: %+v", j)
		}
		for _, r := range j.Releases {
			if r.Guarantee.Epsilon == nil || r.Guarantee.Delta == nil || !json.Valid(r.Params) || r.Name == "" {
				t.Fatalf("incomplete: %+v", r)
			}
		}
		for _, c := range j.Dataset.Columns {
			if !c.Plain() && c.Type == job.Number && c.Lower.Cmp(c.Upper) >= 0 || c.Type == job.Category && len(c.Domain) == 0 || c.Type == "" {
				t.Fatalf("incomplete: %+v", c)
			}
		}
	})
}
