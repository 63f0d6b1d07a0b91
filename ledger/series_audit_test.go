package ledger

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/privacy"
)

// measuredBoth makes a ledger whose series has both steps.
func measuredBoth(t *testing.T, l *Ledger, plans []string) {
	t.Helper()
	for step := range plans {
		k := debit(t, l, seriesStep(plans, step))
		if err := l.Seal(background, k, SeriesContent, []File{{Path: "y", Data: []byte{byte('1' + step)}}}); err != nil {
			t.Fatal(err)
		}
	}
}

// What the writer of a record could do wrong is found by everybody who reads the chain: such a record cannot follow on
// it. Without a change each record can.
func TestBrokenSeriesRecordsAreCaught(t *testing.T) {
	plans := []string{"step 0", "step 1"}
	l := open(t, "sqlite:"+t.TempDir()+"/l.db")
	measuredBoth(t, l, plans)
	var records []Record
	if err := l.Records(background, func(r Record) error { records = append(records, r); return nil }); err != nil {
		t.Fatal(err)
	}
	// follow enters the records up to the n-th debit, which it changes before.
	follow := func(n int, change func(*debitBody)) error {
		b := newBooks()
		for _, r := range records {
			one := bodies[r.Kind]()
			if err := decode(r.Body, one); err != nil {
				t.Fatal(err)
			}
			d, ok := one.(*debitBody)
			if ok {
				if n--; n == 0 {
					change(d)
				}
			}
			if _, err := b.enter(r.Seq, one); err != nil {
				return err
			}
			if ok && n == 0 {
				return nil
			}
		}
		return fmt.Errorf("too few debits")
	}
	for _, c := range []struct {
		name   string
		debit  int
		change func(*debitBody)
		want   string
	}{
		{"nothing, first", 1, func(*debitBody) {}, ""},
		{"nothing, second", 2, func(*debitBody) {}, ""},
		{"one column is charged", 1, func(d *debitBody) { d.Steps[0].Slices = d.Steps[0].Slices[:1] }, "does not charge each"},
		{"a slice is charged that is no step", 1, func(d *debitBody) { d.Steps[0].Parts = d.Steps[0].Parts[:1] }, "charges a slice that it does not have"},
		{"a life costs less than a slice", 1, func(d *debitBody) { d.Cost = privacy.Cost{big.NewRat(1, 64)}; d.Steps[0].Cost = d.Cost }, "more than a life"},
		{"the first step is another one", 1, func(d *debitBody) { p := d.Steps[0].Parts; p[0], p[1] = p[1], p[0] }, "was not paid for"},
		{"one step stands for two", 1, func(d *debitBody) { d.Steps[0].Parts[1].Plan = d.Steps[0].Parts[0].Plan }, "does not charge each"},
		{"a series begins for nothing", 1, func(d *debitBody) { d.Steps[0].Slices = nil }, "does not charge each"},
		{"a second series on the same slices runs free", 2, func(d *debitBody) { d.Plan = "step 1 of another series" }, "was not paid for"},
		{"it says that the first one paid", 2, func(d *debitBody) { d.Plan, d.Slice = "step 0 of another series", "2026-01" }, "was not paid for"},
		{"a step in a slice of another one", 2, func(d *debitBody) { d.Slice = "2026-01" }, "was not paid for"},
		{"a step of no series", 2, func(d *debitBody) { d.Steps[0].Node = "" }, "about more"},
		{"a step of a later record", 2, func(d *debitBody) { d.Steps[0].Node = "later" }, "was not begun"},
		{"a step drawn twice for one price", 2, func(d *debitBody) { d.Plan, d.Slice, d.Steps[0].At = "step 0", "2026-01", 1 }, "does not pay"},
	} {
		err := follow(c.debit, c.change)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// Later steps take the matrix and the noise from what the first one recorded: who changes it there is found by the next
// run, not only by an audit.
func TestSeriesTrustsTheChain(t *testing.T) {
	plans := []string{"step 0", "step 1"}
	for name, change := range map[string]string{
		"the setup":  `'series', 'serious'`,
		"the slices": `'"is":"2026-02"', '"is":"2026-03"'`,
	} {
		at := "sqlite:" + t.TempDir() + "/l.db"
		l := open(t, at)
		k := debit(t, l, seriesStep(plans, 0))
		if err := l.Seal(background, k, SeriesContent, []File{{Path: "y", Data: []byte("1")}}); err != nil {
			t.Fatal(err)
		}
		l.Close()
		done, err := rawDB(t, at).Exec("UPDATE dprelease_nodes SET state = REPLACE(state, " + change + ")")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := done.RowsAffected(); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		l = open(t, at)
		if _, err := l.Node(background, plans[0]); codeOf(err) != CodeTampered {
			t.Errorf("%s: what began the series is read: %v", name, err)
		}
		if _, err := l.Debit(background, seriesStep(plans, 1)); codeOf(err) != CodeTampered {
			t.Errorf("%s: the next step is debited: %v", name, err)
		}
	}
}

// A chain that charges a series less than its matrix and noise cost is found, even where its hashes are right: by its mean
// column, a life as one slice, or a row once more for another one. // P38
func TestAuditOfSeries(t *testing.T) {
	plans := []string{"step 0", "step 1"}
	l := open(t, "sqlite:"+t.TempDir()+"/l.db")
	if err := l.End(background, debit(t, l, seriesStep(plans, 0)), nil); err != nil {
		t.Fatal(err)
	}
	again := seriesStep(plans, 0)
	again.Again = true
	debit(t, l, again)
	for name, c := range map[string]struct{ old, new, finds string }{
		"nothing":                {"", "", ""},
		"a slice by the mean":    {`{"cost":["1/32"],"slices":["2026-01"]}`, `{"cost":["3/128"],"slices":["2026-01"]}`, FoundOverspent},
		"a life as one slice":    {`"cost":["5/64"]`, `"cost":["1/32"]`, FoundOverspent},
		"less noise than priced": {`\"sigma\":8`, `\"sigma\":4`, FoundOverspent},
		"a matrix without a row": {`[[1],[1,1]]`, `[[1]]`, FoundBody},
	} {
		found, changed := audited(t, l, "debit", c.old, c.new)
		if changed != (c.old != "") || c.finds == "" && found != "" || c.finds != "" && !strings.Contains(found, c.finds+":") {
			t.Errorf("%s: changed %v, found %q, want %q", name, changed, found, c.finds)
		}
	}
}
