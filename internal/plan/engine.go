package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// MostParts bounds the parts into which an engine cuts a table.
const MostParts = 1 << 14

// Parts is into how many parts an engine cuts the table, and how many groups of units a shuffle makes. Both are public
// numbers of the job, whatever the table: what a runner shows of its work does not tell the number of rows (P19).
func Parts(j *job.Job) (splits, shards int, problems job.Problems) {
	one := func(name string, otherwise int) int {
		text := j.Engine.Option(name)
		if text == "" {
			return otherwise
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > MostParts {
			problems = append(problems,
				j.Problem(job.Key("engine.options", name), fmt.Sprintf("must be a whole number between 1 and %d", MostParts), ""))
		}
		return n
	}
	each := 16 // four for each worker: more of them cost time, fewer leave workers idle
	if workers, err := strconv.Atoi(j.Engine.Option("workers")); err == nil && workers > 0 {
		each = min(4*workers, MostParts)
	}
	splits, shards = one("splits", each), one("shards", 64)
	return splits, shards, problems
}

// distributable finds what the engine of the job cannot carry out.
func (p *Planned) distributable() error {
	if !p.Job.Engine.Elsewhere() {
		return nil
	}
	_, _, problems := Parts(p.Job)
	wrong := func(path, what string) {
		problems = append(problems, p.Job.Problem(path, what+"; an engine cannot do that", "leave out engine, or the release"))
	}
	if !p.Job.Dataset.Source.Postgres.Empty() {
		wrong("dataset.source.postgres", "a query is read once, in one snapshot")
	}
	if p.Job.Dataset.Source.Snapshot != 0 {
		wrong("dataset.source.iceberg", "a snapshot is read on one machine")
	}
	if p.table != nil {
		wrong("dataset.collected", "the table is itself a sample, whose price changes with every job of the ledger")
	}
	for _, d := range p.Draws {
		at := job.Key("samples", d.Name)
		switch {
		case d.Kept != nil:
			wrong(at, "the draw is kept for other jobs")
		case !samplers.CanPart(d.Design):
			wrong(at, "the draw by "+d.Design.Kind()+" cannot be made in parts")
		}
		if len(d.keys) > 0 {
			wrong(job.Key(job.Item("releases", d.keys[0]), "keys"), "the groups are selected in private, by the number of units in each")
		}
		for _, r := range d.Releases {
			switch builtin, _ := r.Mech.Origin(); {
			case r.Job.ChoosesCap():
				wrong("dataset.cap.rows", "the cap is chosen from the rows before other releases read them")
			case r.Job.Bounds != "":
				wrong(job.Key("dataset.columns", r.Job.Bounds), "its bounds are found in the rows before other releases read them")
			case !builtin && len(r.Plan.Queries) == 0:
				wrong(r.path(p.Job)+".mechanism", r.Job.Mechanism+" is a plugin whose query is not declared, and does not run on an engine's workers")
			case r.Clusters != nil:
				wrong(r.path(p.Job)+".interval", "squares of the totals of first-stage units do not add up over parts of the rows")
			case !r.Mech.About().Linear:
				wrong(r.path(p.Job)+".mechanism", r.Job.Mechanism+" is not linear: the results of parts of the rows do not add up")
			}
		}
	}
	return problems.Sort().Err()
}

// Digest names what the plan asks of the mechanisms. Two machines that make the same plan of a job agree on it.
func (p *Planned) Digest() (string, error) {
	type request struct {
		Name, Params, Event string
		Columns             []string
		Rows                int64
		Apart               bool
		Queries             []sdk.Query
		Target              privacy.Point
	}
	var all struct {
		Requests []request
		Frames   [][]samplers.Unit // machines number the units by their place
	}
	for _, d := range p.Draws {
		var frame []samplers.Unit
		if framed, ok := d.Design.(Framed); ok && framed.Frame() != nil {
			for u := range int32(framed.Frame().Len()) {
				frame = append(frame, framed.Frame().Unit(u))
			}
		}
		all.Frames = append(all.Frames, frame)
		for _, r := range d.Releases {
			event, err := privacy.Canonical(r.Plan.Event)
			if err != nil {
				return "", err
			}
			all.Requests = append(all.Requests, request{r.Job.Name, string(r.Params), string(event), r.Plan.Columns, r.Plan.Rows, r.Apart,
				r.Plan.Queries, r.target})
		}
	}
	text, err := json.Marshal(all)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}
