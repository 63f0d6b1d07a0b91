package budget

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/samplers"
)

// pinsOf lists what each kind of node pins, beside whose a row is (unitPins) and what every job says of it again
// (ledger.Step).
var pinsOf = map[string]func(*planned.Plan) []ledger.Pin{
	ledger.KindPanel: func(*planned.Plan) []ledger.Pin {
		return []ledger.Pin{{Name: "the rule that allots units", Is: "version " + samplers.AllotmentVersion}}
	},
	ledger.KindSeries: func(*planned.Plan) []ledger.Pin { return nil },
	ledger.KindCollected: func(p *planned.Plan) []ledger.Pin {
		c := p.Job.Dataset.Collected
		return []ledger.Pin{sizePin(p), {Name: "dataset.collected", Is: p.Job.CollectedText()}, {Name: "dataset.frame", Is: said(c.FrameSHA256)}}
	},
	// The rows of a kept draw are known by their places, which follow from the order of the units.
	ledger.KindDraw: func(p *planned.Plan) []ledger.Pin {
		return []ledger.Pin{sizePin(p), {Name: "dataset.source.missing", Is: strings.Join(p.Job.Dataset.Source.MissingTexts(), ", ")}}
	},
}

func sizePin(p *planned.Plan) ledger.Pin {
	return ledger.Pin{Name: "dataset.size", Is: strconv.FormatInt(p.Job.Dataset.Size, 10)}
}

// Pinned is a request that says what decides which unit gets which part of the nodes that it begins or goes on with. Without an
// opened table it leaves out what only the schema tells.
func Pinned(q ledger.Request, p *planned.Plan, t *run.OpenedTable) ledger.Request { // P36
	units := unitPins(p.Job, t)
	q.Steps = slices.Clone(q.Steps)
	for i := range q.Steps {
		if s := &q.Steps[i]; s.Node != "" {
			s.Pins = leave(slices.Concat(units, pinsOf[cmp.Or(s.Begins, ledger.KindDraw)](p)))
		}
	}
	return q
}

// forgotten is the pin that a twin in the tests forgets: "" for none.
var forgotten string

// leave leaves out the pin that is forgotten.
func leave(pins []ledger.Pin) []ledger.Pin {
	return slices.DeleteFunc(pins, func(p ledger.Pin) bool { return p.Name == forgotten })
}

// unitPins say whose a row is: in each table the column of the unit, in which form its keys are compared, and what becomes
// of a row without one.
func unitPins(j *job.Job, t *run.OpenedTable) (out []ledger.Pin) {
	add := func(of *job.Job, name string, is string) {
		if at := of.Dataset.Table; at != "" {
			name += " of table " + at
		}
		out = append(out, ledger.Pin{Name: name, Is: is})
	}
	if len(j.Dataset.Tables) > 0 {
		out = append(out, ledger.Pin{Name: "dataset.population", Is: said(j.Dataset.Population)})
	}
	for _, name := range j.TableNames() {
		of := j.Of(name)
		key := of.Dataset.Key
		add(of, "dataset.unit", said(key.Column))
		if key.Column == "" {
			continue
		}
		add(of, "the rule for rows without a unit", said(string(key.Missing)))
	}
	if t == nil {
		return out
	}
	for _, part := range t.Parts() {
		of := j.Of(part.Name())
		if form := part.KeyForm(of); form != "" {
			add(of, "the form of keys in dataset.unit", form)
		}
	}
	return out
}

// said returns what a job says of something, in words where it says nothing.
func said(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}
