package output

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strconv"

	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/report"
)

// StoredResults reads released values back from the stored files, for the summary
// of a run that made nothing new. A release that is stored in neither CSV nor JSON
// is left out.
func StoredResults(rep report.Report, files []ledger.File) map[string]sdk.Result {
	data := map[string][]byte{}
	for _, f := range files {
		data[f.Path] = f.Data
	}
	out := map[string]sdk.Result{}
	for _, r := range rep.Releases {
		var rows [][]string
		if b, ok := data[r.Name+".csv"]; ok {
			rows = csvRows(b, r.Fields)
		} else if b, ok := data[r.Name+".json"]; ok {
			rows = jsonRows(b, r.Fields)
		}
		if result, ok := resultOf(rows, r.Fields); ok {
			out[r.Name] = result
		}
	}
	return out
}

func csvRows(b []byte, fields []report.Field) [][]string {
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil || len(rows) == 0 || len(rows[0]) != len(fields) {
		return nil
	}
	return rows[1:]
}

func jsonRows(b []byte, fields []report.Field) (rows [][]string) {
	var objects []map[string]json.RawMessage
	if json.Unmarshal(b, &objects) != nil {
		return nil
	}
	for _, o := range objects {
		row := make([]string, len(fields))
		for i, f := range fields {
			if row[i] = string(o[f.Name]); f.Type == string(sdk.String) && json.Unmarshal(o[f.Name], &row[i]) != nil {
				return nil
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func resultOf(rows [][]string, fields []report.Field) (r sdk.Result, ok bool) {
	for i, f := range fields {
		c := sdk.ResultColumn{Name: f.Name}
		for _, row := range rows {
			var err error
			switch f.Type {
			case string(sdk.Float64):
				var x float64
				x, err = strconv.ParseFloat(row[i], 64)
				c.Float64 = append(c.Float64, x)
			case string(sdk.Int64):
				var n int64
				n, err = strconv.ParseInt(row[i], 10, 64)
				c.Int64 = append(c.Int64, n)
			default:
				c.String = append(c.String, row[i])
			}
			if err != nil {
				return r, false
			}
		}
		r.Columns = append(r.Columns, c)
	}
	return r, len(rows) > 0
}
