package plan

import (
	"context"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// Past answers for the ledger about what earlier jobs left. Reading it changes nothing.
type Past interface {
	// Node returns a node of the job's account, or of its slice; nil where there is none.
	Node(ctx context.Context, j *job.Job, id string) (*ledger.Node, error)
}

// recalled keeps the nodes that a plan asked for and that are there, by id.
type recalled struct {
	Past
	there map[string]*ledger.Node
}

func (r *recalled) Node(ctx context.Context, j *job.Job, id string) (*ledger.Node, error) {
	n, err := r.Past.Node(ctx, j, id)
	if n != nil {
		r.there[id] = n
	}
	return n, err
}

// findSamples asks the ledger for the kept samples that a job uses: their designs,
// and what was spent on them.
func findSamples(ctx context.Context, j *job.Job, past Past) (map[string]*ledger.Node, job.Problems, error) {
	found := map[string]*ledger.Node{}
	var problems job.Problems
	for _, r := range j.Releases {
		s, ok := j.Sample(r.From)
		if _, known := found[s.Name]; known || !ok || s.Method != job.Kept {
			continue
		}
		n, err := past.Node(ctx, j, s.ID)
		if err != nil {
			return nil, nil, err
		}
		at := job.Key(job.Key("samples", s.Name), "id")
		switch {
		case n == nil || n.Kind != ledger.KindDraw:
			problems = append(problems, j.Problem(at, "is not a sample of this data set that this ledger keeps",
				"dprelease ledger show lists them; the data set, its relation and its unit must be the same"))
		case !n.Open:
			problems = append(problems, j.Problem(at, "was never stored: the job that drew it did not finish",
				"run that job with --spend-again, which draws another sample"))
		}
		found[s.Name] = n
	}
	return found, problems, nil
}

// newKept begins the accounting of a draw that is kept or was. It is nil for one
// that is neither.
func newKept(j *job.Job, name string, d samplers.Design, samples map[string]*ledger.Node) (*planned.Kept, error) {
	s, ok := j.Sample(name)
	if !ok || !s.Keep && s.Method != job.Kept {
		return nil, nil
	}
	rule, err := privacy.NewReuse(samplers.Sampling(d), j.Dataset.Relation)
	if err != nil {
		return nil, err
	}
	return &planned.Kept{Node: samples[name], Rule: rule}, nil
}

// collection is the draw that made a table itself a sample. It was made once, for
// all jobs on the table: the ledger knows what they spent on it (P4).
func collection(ctx context.Context, j *job.Job, table *Collection, past Past) (*DraftDraw, error) {
	rule, err := privacy.NewReuse(table.Sampling, j.Dataset.Relation)
	if err != nil {
		return nil, job.Problems{j.Problem("dataset.collected", err.Error(), "")}
	}
	d := &DraftDraw{Sampled: planned.Sampled{Name: "collected", Design: table.Design,
		Kept: &planned.Kept{Rule: rule, ID: ledger.CollectedID(planned.AccountOf(j))}}}
	d.Kept.Node, err = past.Node(ctx, j, d.Kept.ID)
	return d, err
}
