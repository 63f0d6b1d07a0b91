package disclose

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/report"
)

// maxRelease bounds a file of a release, in bytes.
const maxRelease = 2 << 30

// The types of the statement. Whoever signs it wraps it into a DSSE envelope with PayloadType.
const (
	StatementType = "https://in-toto.io/Statement/v1"
	PredicateType = "https://github.com/dprelease/dprelease/specs/attestation-v1"
	PayloadType   = "application/vnd.in-toto+json"
)

// Statement is an in-toto statement: which files, and what is said of them.
type Statement struct {
	Type          string    `json:"_type"`
	Subject       []Subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     Predicate `json:"predicate"`
}

// Subject is a file by its digest.
type Subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// Predicate is an account of the making of the files. It has no time and no word of the ledger.
type Predicate struct {
	Tool       report.Tool        `json:"tool"`
	Job        report.Job         `json:"job"`
	Dataset    string             `json:"dataset"`
	Unit       string             `json:"unit"`
	Relation   string             `json:"relation"`
	Slice      *report.Slice      `json:"slice,omitempty"`
	Guarantee  Guarantee          `json:"guarantee"`
	Mechanisms []report.Mechanism `json:"mechanisms"`
}

// Guarantee is the charged point, and the event that it follows from.
type Guarantee struct {
	Epsilon float64         `json:"epsilon"`
	Delta   float64         `json:"delta"`
	Method  string          `json:"method"`
	Event   json.RawMessage `json:"event"`
}

// Attest writes the statement about the released files of an output folder. report.json and
// the pages are left out: they name the account, or are written again by other versions. A file
// that is not the one in the report is refused.
func Attest(dir string, r *report.Report) ([]byte, error) {
	s := Statement{Type: StatementType, PredicateType: PredicateType, Predicate: Predicate{
		Tool: r.Tool, Job: r.Job, Dataset: r.Dataset.ID, Unit: r.Dataset.One(), Relation: r.Dataset.Relation.String(), Slice: r.Dataset.Slice,
		Guarantee: Guarantee{r.Guarantee.Epsilon, r.Guarantee.Delta, r.Guarantee.Method, r.Guarantee.Event}}}
	known := map[report.Mechanism]bool{}
	for _, e := range r.Releases {
		if !known[e.Mechanism] {
			known[e.Mechanism] = true
			s.Predicate.Mechanisms = append(s.Predicate.Mechanisms, e.Mechanism)
		}
		for _, f := range e.Files {
			content, err := file.Read(filepath.Join(dir, f.Path), maxRelease)
			if err != nil {
				return nil, fmt.Errorf("%s cannot be read", f.Path)
			}
			sum := sha256.Sum256(content)
			digest := hex.EncodeToString(sum[:])
			if digest != f.SHA256 {
				return nil, fmt.Errorf("%s is not the file that report.json names: its digest differs", f.Path)
			}
			s.Subject = append(s.Subject, Subject{f.Path, map[string]string{"sha256": digest}})
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(s)
	return b.Bytes(), err
}
