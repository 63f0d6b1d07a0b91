package run

import (
	"context"
	"os"
	"reflect"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/plugin/inprocess"
	"github.com/dprelease/dprelease/plugins/builtin"
)

// counting counts the scans that read columns.
type counting struct {
	rowSource
	scans *int
}

func (c counting) Scan(ctx context.Context, o table.ScanOptions, visit func(table.Batch) error) error {
	if len(o.Columns) > 0 {
		*c.scans++
	}
	return c.rowSource.Scan(ctx, o, visit)
}

// A slice is identified while its units are numbered, and then added up in one more scan: the digest is the one that the ledger compares. A row that fits no
// domain is no error yet, and does not keep the slice from being identified.
func TestSliceIsIdentifiedOnTheWay(t *testing.T) {
	y := newYearly(t, 1, "rho")
	sums := map[string]*SliceSums{}
	for name, group := range map[string]string{"good": "a", "bad": "z"} {
		text := "u,x,g,m\nu1,1,a,2026-01\nu2,2,b,2026-01\nu1,1,a,2026-02\nu3,0," + group + ",2026-01\n"
		if err := os.WriteFile(y.file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		opened, err := OpenTable(t.Context(), y.plan, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer opened.Close()
		of, err := opened.Slices(t.Context(), y.plan, threePeriods)
		if err != nil {
			t.Fatal(err)
		}
		key := table.Key{1}
		whole, each, err := of.View(0).SliceContent(t.Context(), key, of.Columns())
		if err != nil {
			t.Fatal(err)
		}
		scans := 0
		of.views[0].rows = counting{of.views[0].rows, &scans}
		got, err := of.sum(t.Context(), inprocess.Mechanisms(builtin.Mechanisms()).Sums, 0, true, key)
		if err != nil {
			t.Fatal(err)
		}
		if got.Whole != whole || !reflect.DeepEqual(got.Each, each) {
			t.Errorf("%s: the slice is not known again", name)
		}
		if (got.Failed != nil) != (name == "bad") || name == "good" && scans != 2 {
			t.Errorf("%s: %d scans, %v", name, scans, got.Failed)
		}
		sums[name] = got
	}
	if sums["good"].Whole == sums["bad"].Whole {
		t.Error("two slices have one digest")
	}
}
