package budget

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"slices"

	"github.com/dprelease/dprelease/internal/failure"
	"github.com/dprelease/dprelease/internal/output"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/report"
)

// keyOf is the digest of what the plan asks for: the job's meaning, the mechanisms
// that carry it out, the events that they and the draws cause, the relation, and
// the public frame. What a price was found to be is no part of it: a better
// accountant does not make another release.
func keyOf(p *plan.Plan) (string, error) {
	rep, err := output.Describe(p, "")
	if err != nil {
		return "", err
	}

	type draw struct {
		Name, Design string
		Event        json.RawMessage
		Releases     []string
	}
	type release struct {
		Name, From string
		Mechanism  report.Mechanism
		Params     json.RawMessage
		Fields     []report.Field
	}
	var k struct {
		Job      string
		Relation privacy.Relation
		Frame    string
		Event    json.RawMessage
		Draws    []draw
		Releases []release
	}
	k.Job, k.Relation, k.Event = rep.Job.Digest, rep.Dataset.Relation, rep.Guarantee.Event
	// How much noise a release from a kept draw of another job gets depends on what
	// was spent on the draw: a retry is planned after its own debit. The job, which
	// names the draw, says what is asked for. So does what is released from a table
	// that is itself a sample, which is one draw for all jobs.
	if p.Reuses() || p.Table != nil {
		k.Event = nil
	}
	if f := p.Job.Dataset.Frame; f != nil {
		var err error
		if k.Frame, err = fileDigest(f.Path); err != nil {
			return "", failure.InJob(p.Job, "dataset.frame.path", "cannot be read: "+failure.Reason(err), "")
		}
	}
	for i, d := range rep.Draws {
		event := d.Guarantee.Event
		if p.Draws[i].Kept.Reused() || p.Table != nil {
			event = nil
		}
		k.Draws = append(k.Draws, draw{d.Name, d.Design, event, d.Releases})
	}
	for _, r := range rep.Releases {
		fields := planned(p, r.Name)
		if p.Reuses() || p.Table != nil {
			fields = withoutDoc(fields) // which may say how much noise there is
		}
		k.Releases = append(k.Releases, release{r.Name, r.From, r.Mechanism, r.Params, fields})
	}
	b, err := json.Marshal(k)
	if err != nil {
		return "", failure.New(failure.ExitBug, "PLAN_UNSOUND", "the plan has no digest")
	}
	sum := sha256.Sum256(append([]byte("dprelease plan 1\n"), b...))
	return hex.EncodeToString(sum[:]), nil
}

// withoutDoc are the fields by name and type alone.
func withoutDoc(fields []report.Field) []report.Field {
	out := slices.Clone(fields)
	for i := range out {
		out[i].Doc = ""
	}
	return out
}

func fileDigest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// planned are all columns that the mechanism of a release planned, those too that are
// withheld: a release is known by what was asked, not by what of it is shown.
func planned(p *plan.Plan, release string) []report.Field {
	for _, d := range p.Draws {
		for _, r := range d.Releases {
			if r.Job.Name == release {
				return output.Fields(r.Plan.Output)
			}
		}
	}
	return nil
}
