package plan

import (
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/samplers"
)

// distributable finds what the engine of the job cannot carry out.
func (p *Planned) distributable() error {
	if !p.Job.Engine.Elsewhere() {
		return nil
	}
	_, _, problems := p.Job.Parts()
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
