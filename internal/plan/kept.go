package plan

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/samplers"
)

// KeptDraw holds the state of a draw that several jobs share. The releases of all of them
// are composed, and then amplified once (P4).
type KeptDraw struct {
	Sample *ledger.Sample // of an earlier job; nil where this job makes the draw
	ID     string         // of a draw that made the table
	rule   *privacy.Reuse
}

// Reused reports whether an earlier job made the draw.
func (k *KeptDraw) Reused() bool { return k != nil && k.Sample != nil }

// spent is the state of the draw that the plan begins with.
func (k *KeptDraw) spent() ledger.Limit {
	if k.Sample != nil {
		return k.Sample.Spent
	}
	return rational.Zero()
}

// before is the ε that earlier jobs spent on the sample, rounded up.
func (k *KeptDraw) before() float64 { return rational.Up(k.spent().Epsilon) }

// wanted are the kept samples that the releases of a job use, by their names.
func wanted(j *job.Job) map[string]job.Sample {
	out := map[string]job.Sample{}
	for _, r := range j.Releases {
		if s, ok := j.Sample(r.From); ok && s.Method == job.Kept {
			out[s.Name] = s
		}
	}
	return out
}

// Past answers for the ledger about draws of earlier jobs. Reading it changes nothing.
type Past interface {
	// Kept returns the kept samples of these names, without those that the job's account
	// does not know.
	Kept(ctx context.Context, j *job.Job, wanted map[string]job.Sample) (map[string]*ledger.Sample, error)
	// Collected returns the state of the draw that made the table itself a sample, nil
	// where no job has used it.
	Collected(ctx context.Context, j *job.Job, id string) (*ledger.Sample, error)
	// Series returns what the run that began the series of the job said of it (SeriesSetup), nil
	// where none did.
	Series(ctx context.Context, j *job.Job) ([]byte, error)
}

// findSamples asks the ledger for the kept samples that a job uses: their designs,
// and what was spent on them.
func findSamples(ctx context.Context, j *job.Job, past Past) (map[string]*ledger.Sample, job.Problems, error) {
	want := wanted(j)
	if len(want) == 0 {
		return nil, nil, nil
	}
	found, err := past.Kept(ctx, j, want)
	if err != nil {
		return nil, nil, err
	}
	var problems job.Problems
	for name := range want {
		at := job.Key(job.Key("samples", name), "id")
		switch k := found[name]; {
		case k == nil:
			problems = append(problems, j.Problem(at, "is not a sample of this data set that this ledger keeps",
				"dprelease ledger show lists them; the data set, its relation and its unit must be the same"))
		case !k.Ready:
			problems = append(problems, j.Problem(at, "was never stored: the job that drew it did not finish", "run that job with --again, which draws another sample"))
		}
	}
	return found, problems, nil
}

// designText is the design of a kept sample, written down for later jobs.
type designText struct {
	Kind  string         `json:"kind"`
	Facts samplers.Facts `json:"facts"`
}

func describeDesign(d samplers.Design) (string, error) {
	b, err := json.Marshal(designText{d.Kind(), d.Facts()})
	return string(b), err
}

// restored is the design of a kept sample.
func restored(j *job.Job, s *ledger.Sample) (samplers.Design, error) {
	if s == nil {
		return nil, errors.New("its design is in the ledger, which is not read here")
	}
	event, err := s.Sampling()
	if err != nil {
		return nil, err
	}
	var d designText
	if err := json.Unmarshal([]byte(s.Design), &d); err != nil {
		return nil, errors.New("its design cannot be read")
	}
	if n := d.Facts.Population; n != j.Dataset.Size {
		return nil, errors.New("it was drawn when dataset.size was another number")
	}
	return samplers.NewKept(d.Kind, event, d.Facts, j.Dataset.Relation)
}

// newKept begins the accounting of a draw that is kept or was. It is nil for one
// that is neither.
func newKept(j *job.Job, name string, d samplers.Design, samples map[string]*ledger.Sample) (*KeptDraw, error) {
	s, ok := j.Sample(name)
	if !ok || !s.Keep && s.Method != job.Kept {
		return nil, nil
	}
	rule, err := privacy.NewReuse(Sampling(d), j.Dataset.Relation)
	if err != nil {
		return nil, err
	}
	return &KeptDraw{Sample: samples[name], rule: rule}, nil
}

// earlier is the event of all that earlier jobs released from the draw.
func (k *KeptDraw) earlier() []privacy.Event {
	if !k.Reused() {
		return nil
	}
	s := k.spent()
	return []privacy.Event{privacy.Approx{Eps: rational.Up(s.Epsilon), Delta: rational.Up(s.Delta)}}
}

// Samples are the states of the kept samples that the plan began with, by id.
func (d *Draft) Samples() map[string]*ledger.Sample {
	out := map[string]*ledger.Sample{}
	for _, x := range d.shared() {
		if x.Kept.Reused() {
			out[x.Kept.Sample.ID] = x.Kept.Sample
		}
	}
	if d.panel != nil && d.panel.Sample != nil {
		out[d.panel.ID] = d.panel.Sample
	}
	return out
}

// collection is the draw that made a table itself a sample. It was made once, for
// all jobs on the table: the ledger knows what they spent on it (P4).
func collection(ctx context.Context, j *job.Job, table *Collection, past Past) (*DraftDraw, job.Problems, error) {
	rule, err := privacy.NewReuse(table.Sampling, j.Dataset.Relation)
	if err != nil {
		return nil, job.Problems{j.Problem("dataset.collected", err.Error(), "")}, nil
	}
	d := &DraftDraw{Name: "collected", Design: table.Design, Kept: &KeptDraw{rule: rule, ID: ledger.CollectedID(AccountOf(j))}}
	d.Kept.Sample, err = past.Collected(ctx, j, d.Kept.ID)
	return d, nil, err
}
