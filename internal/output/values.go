package output

import (
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
		read, content := readCSV, data[r.Name+".csv"]
		if content == nil {
			read, content = readJSON, data[r.Name+".json"]
		}
		t, err := read(content, r.Fields)
		if err != nil {
			continue
		}
		var result sdk.Result
		rows := 0
		for _, c := range t.Columns {
			rows = max(rows, len(c.Float64), len(c.Int64), len(c.Text))
			result.Columns = append(result.Columns, sdk.ResultColumn{Name: c.Name, Float64: c.Float64, Int64: c.Int64, String: c.Text})
		}
		if rows > 0 {
			out[r.Name] = result
		}
	}
	return out
}
