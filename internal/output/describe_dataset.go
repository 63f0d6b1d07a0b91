package output

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/report"
	"github.com/dprelease/dprelease/samplers"
)

// datasetReport returns the public facts about the table.
func datasetReport(j *job.Job) report.Dataset {
	d := &j.Dataset
	out := report.Dataset{ID: d.ID, Relation: d.Relation, Unit: d.Unit, UnitName: d.Called.Name, UnitPlural: d.Called.Plural,
		UnitColumn: d.Key.Column, Population: d.Size, Travelled: travelled(j)}
	if id := d.Source.Snapshot; id != 0 {
		out.Snapshot = strconv.FormatInt(id, 10)
	}
	switch {
	case len(d.Tables) > 0:
		out.UnitRows, out.Tables = "joined", tablesReport(j)
	case d.Folds():
		out.UnitRows = "folded"
	case d.Cap != nil:
		out.UnitRows, out.UnitCap = "capped", largestCap(j)
	}
	if out.UnitRows != "" && len(d.Tables) == 0 {
		out.UnitMissing = string(d.Key.Missing)
	}
	if s := d.Slice; s != nil {
		out.Slice = &report.Slice{Column: s.Column, Is: s.Is}
	}
	return out
}

// largestCap returns the most groups and rows in which a unit of a capped table counts in any release.
func largestCap(j *job.Job) *report.Cap {
	var out report.Cap
	for i := range j.Releases {
		if c := j.Dataset.CapOf(&j.Releases[i]); c != nil && j.Releases[i].Table == j.Dataset.Table {
			out.Groups, out.Rows = max(out.Groups, c.Groups), max(out.Rows, c.Rows)
		}
	}
	if out.Rows == 0 { // no release reads it
		out = report.Cap{Groups: j.Dataset.Cap.Groups, Rows: j.Dataset.Cap.Rows}
	}
	return &out
}

// tablesReport are the tables of a data set with several.
func tablesReport(j *job.Job) (out []report.DataTable) {
	for _, t := range j.Dataset.Tables {
		one := report.DataTable{Name: t.Name, Population: t.Name == j.Dataset.Population, UnitColumn: t.Key.Column}
		if t.Key.Member != "" {
			one.MemberOf = t.Key.Members.Table
		}
		switch {
		case t.OneRow:
		case t.Folds():
			one.UnitRows = "folded"
		case t.Cap != nil:
			one.UnitRows, one.UnitCap = "capped", largestCap(j.Of(t.Name))
		}
		for _, c := range t.Columns {
			if c.Joined != nil {
				one.Takes = append(one.Takes, c.Name+" = "+c.Joined.String())
			}
		}
		out = append(out, one)
	}
	return out
}

// collected describes how a table of so many rows was drawn from its population.
func collected(c *job.Collected, f samplers.Facts, rows int64) *report.Collected {
	out := &report.Collected{Method: string(c.Method), Rate: f.Rate}
	if c.Method == job.Rotation {
		out.In, out.Waves, out.Patterns = c.In, c.Waves, len(c.Patterns)
		return out
	}
	out.Population, out.By = f.Population, f.UnitColumns
	if len(f.UnitColumns) == 0 && f.Population > 0 {
		return out
	}
	if f.Population > 0 {
		out.Taken = rows
	}
	out.Least, out.Most, out.Allocation = 1/f.MaxWeight, 1/f.MinWeight, string(c.Allocation)
	return out
}

// Words returns the words of a job about its publication, nil for none.
func Words(p *job.Publication) *report.Publication {
	if p == nil {
		return nil
	}
	out := &report.Publication{Title: p.Title, Publisher: p.Publisher, Period: p.Period, Contact: p.Contact, Language: p.Language,
		Notes: p.Notes, Labels: map[string]string{}, Published: p.Published, IntendedUse: p.IntendedUse, Region: p.Region, Sector: p.Sector,
		Sources: p.Sources, Justification: p.Justification}
	for _, n := range p.Labels {
		out.Labels[n.Name] = n.Value
	}
	return out
}

// SameWords reports whether a report has the words of a job about its publication.
func SameWords(j *job.Job, r *report.Report) bool {
	a, err := json.Marshal(Words(j.Publication))
	b, again := json.Marshal(r.Publication)
	return err == nil && again == nil && bytes.Equal(a, b)
}
