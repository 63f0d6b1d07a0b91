package run

import (
	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/rows"
	"github.com/dprelease/dprelease/internal/rows/formula"
)

// readLookups reads the public tables of a job.
func readLookups(j *job.Job) ([]*rows.Lookup, error) {
	d := &j.Dataset
	types := map[string]formula.Column{}
	for _, c := range d.Readable(false) {
		types[c.Name] = c
	}
	var all []*rows.Lookup
	for i := range d.Lookups {
		l := &d.Lookups[i]
		spec := rows.LookupSpec{Path: l.Path, Key: l.Key, On: types[l.On()]}
		for _, c := range l.Columns {
			spec.Columns = append(spec.Columns, rows.LookupColumn{Column: types[c.Name], Heading: c.Heading})
		}
		one, problems := rows.ReadLookup(spec)
		if len(problems) > 0 {
			return nil, problems
		}
		if one.SHA256() != l.SHA256 { // the releases would be stored under the digest of another job
			return nil, j.Problem("dataset.lookups."+l.Name, "was changed since the job was read", "run the job again")
		}
		all = append(all, one)
	}
	return all, nil
}

// CheckLookups finds what is wrong with the public tables of a job.
func CheckLookups(j *job.Job) error {
	_, err := readLookups(j)
	return err
}

// compile makes the program that computes columns and conditions, of rows or of folded
// units.
func compile(j *job.Job, lookups []*rows.Lookup, computed []string, conditions []job.Expression, folded bool) (*rows.Program, error) {
	spec := rows.Spec{Outputs: computed}
	if !folded {
		spec.Lookups = lookups
	}
	for _, c := range j.Dataset.Readable(folded) {
		column, _ := j.Dataset.Column(c.Name)
		switch {
		case !isComputed(&column, folded):
			spec.Columns = append(spec.Columns, c)
		case column.Lookup != nil:
		case column.Derived.Bins.Column != "":
			spec.Derived = append(spec.Derived, rows.Derived{Name: c.Name, Bins: &column.Derived.Bins})
		default:
			spec.Derived = append(spec.Derived, rows.Derived{Name: c.Name, Formula: column.Derived.As.Formula})
		}
	}
	for _, e := range conditions {
		spec.Conditions = append(spec.Conditions, e.Formula)
	}
	return rows.NewProgram(spec)
}

// truths are the codes of false and true as the values of a column of conditions.
func truths(codes []int32) table.Values {
	v := table.Values{Kind: table.Bool, Int64: make([]int64, len(codes)), Valid: make([]byte, (len(codes)+7)/8)}
	for i, code := range codes {
		if code >= 0 {
			v.Int64[i] = int64(code)
			v.Valid[i>>3] |= 1 << (i & 7)
		}
	}
	return v
}
