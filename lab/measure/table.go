package measure

import (
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// ReadCSV reads the given columns of a CSV file: numbers clipped to their bounds, and categories as codes into their
// domain. It leaves out the rows that miss one of the columns.
func ReadCSV(path string, columns []sdk.Column) (sdktest.Table, error) {
	t := sdktest.Table{Columns: map[string]sdk.Values{}}
	f, err := os.Open(path)
	if err != nil {
		return t, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return t, fmt.Errorf("%s: %w", path, err)
	}
	at := make([]int, len(columns))
	for i, c := range columns {
		if at[i] = slices.Index(rows[0], c.Name); at[i] < 0 {
			return t, fmt.Errorf("%s has no column %s", path, c.Name)
		}
	}
	rows = slices.DeleteFunc(rows[1:], func(r []string) bool {
		return slices.ContainsFunc(at, func(i int) bool { return r[i] == "" })
	})
	t.Rows = len(rows)
	for i, c := range columns {
		var v sdk.Values
		for _, r := range rows {
			if c.Type == sdk.Category {
				v.Codes = append(v.Codes, int32(slices.Index(c.Domain, r[at[i]])))
				continue
			}
			x, err := strconv.ParseFloat(r[at[i]], 64)
			if err != nil {
				return t, fmt.Errorf("%s: column %s holds something other than numbers", path, c.Name)
			}
			v.Float64 = append(v.Float64, min(max(x, c.Lower), c.Upper))
		}
		t.Columns[c.Name] = v
	}
	return t, nil
}

// Full returns the public facts about a table that is read as a whole. The number of rows is public under replace-one,
// and 0 elsewhere.
func Full(relation privacy.Relation, rows int64, columns ...sdk.Column) sdk.Public {
	return sdk.Public{
		Relation: relation, SampleRelations: []privacy.Relation{relation}, Population: rows, Columns: columns,
		Design: sdk.Design{Kind: "full", Rate: 1, SampleSize: rows, MinWeight: 1, MaxWeight: 1, EqualWeights: true},
	}
}

// Number returns a number column without missing values.
func Number(name string, lower, upper float64) sdk.Column {
	return sdk.Column{Name: name, Type: sdk.Number, Lower: lower, Upper: upper, Missing: sdk.MissingRefuse}
}

// Category returns a category column without missing values.
func Category(name string, domain ...string) sdk.Column {
	return sdk.Column{Name: name, Type: sdk.Category, Domain: domain, Missing: sdk.MissingRefuse}
}
