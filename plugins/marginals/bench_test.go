package marginals

import (
	"fmt"
	"io"
	"testing"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/linear/lineartest"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
)

// batches hands out the rows of a table as a host does.
type batches struct {
	table sdktest.Table
	names []string
	at    int
}

func (b *batches) Next() (*sdk.Batch, error) {
	const size = 1 << 15
	if b.at == b.table.Rows {
		return nil, io.EOF
	}
	n := min(size, b.table.Rows-b.at)
	out := &sdk.Batch{Rows: n}
	for _, name := range b.names {
		out.Columns = append(out.Columns, sdk.Values{Codes: b.table.Columns[name].Codes[b.at:][:n]})
	}
	b.at += n
	return out, nil
}

// twenty are 20 columns of 10 values, and the request for their tables.
func twenty(ways int) (columns []sdk.Column, names []string, req sdk.PlanRequest) {
	list := ""
	for i := range 20 {
		name := fmt.Sprint("c", i)
		columns, names = append(columns, column(name, 10, sdk.MissingRefuse)), append(names, name)
		list += fmt.Sprintf(`,"%s"`, name)
	}
	req = lineartest.Request(fmt.Sprintf(`{"columns":[%s],"ways":%d}`, list[1:], ways), 0, columns...)
	return columns, names, req
}

// The goal for a whole run over a million rows is 2 s.
func BenchmarkCount(b *testing.B) {
	for _, ways := range []int{2, 3} {
		columns, names, req := twenty(ways)
		table := records(1_000_000, columns...)
		b.Run(fmt.Sprintf("ways=%d", ways), func(b *testing.B) {
			b.ReportMetric(2000, "reference-ms")
			for range b.N {
				f, err := statistic{}.Form(req)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := f.Sum(&batches{table: table, names: names}, 1<<32); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkTables(b *testing.B) {
	_, _, req := twenty(3)
	l, err := layoutOf(req)
	if err != nil {
		b.Fatal(err)
	}
	noisy := make([]int64, l.size)
	for range b.N {
		l.result(noisy, linear.Noise{SD: 1})
	}
}

// The goal is 50 ms.
func BenchmarkPlan(b *testing.B) {
	_, _, req := twenty(3)
	b.ReportMetric(50, "reference-ms")
	for range b.N {
		layouts.key = ""
		if _, err := (Mechanism{}).Plan(req); err != nil {
			b.Fatal(err)
		}
	}
}
