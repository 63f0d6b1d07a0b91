package report

import (
	"strings"
	"testing"
)

// The estimate of a number of rows beside a mean tells no figures apart; the edges of bins do.
func TestKeysOfSeries(t *testing.T) {
	columns := func(more ...Column) Table {
		return Table{Columns: append([]Column{
			{Name: "period", Texts: []string{"1", "1", "2", "2"}}, {Name: "kind", Texts: []string{"month", "month", "month", "month"}},
			{Name: "value", Float64: []float64{1, 2, 3, 4}}}, more...)}
	}
	region := Column{Name: "region", Texts: []string{"north", "south", "north", "south"}}
	count := Column{Name: "count", Float64: []float64{1.5, 2.5, 3.5, 4.5}}
	edge := Column{Name: "from", Float64: []float64{0, 10, 0, 10}}
	for _, c := range []struct {
		table Table
		want  string
	}{{columns(region, count), "region"}, {columns(edge), "from"}, {columns(region), "region"}} {
		var names []string
		for _, k := range c.table.seriesKeys() {
			names = append(names, k.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("keys %q, want %q", got, c.want)
		}
	}
}
