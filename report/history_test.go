package report_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/dprelease/dprelease/report"
)

// The page of a ledger adds up what every job and slice has spent, and says that it is
// private.
func TestHistory(t *testing.T) {
	h := report.History{Dataset: "people", About: "Per row", Units: []string{"epsilon", "delta"}, Limits: []string{"4", "0"}}
	for i := range 5 {
		h.Steps = append(h.Steps, report.Step{At: time.Date(2026, time.Month(i+1), 3, 9, 0, 0, 0, time.UTC), Job: fmt.Sprint("job-", i%2),
			Sum: "ε 0.5, δ 0", Cost: []*big.Rat{big.NewRat(1, 2), new(big.Rat)}})
	}
	write := func(h report.History) string {
		var b strings.Builder
		if err := report.WriteHistory(&b, "sqlite:x.db", []report.History{h}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	page := write(h)
	inOrder(t, page, "This page is private", "people", "Limit: epsilon 4, delta 0", "5 debits have spent 2.5 of 4, from 2026-01-03 to 2026-05-03",
		"job-0", `<td class="n">3</td><td class="n">1.5</td>`, "job-1", `<td class="n">2</td><td class="n">1</td>`, "2026-05-03 09:00")
	if strings.Contains(page, "delta spent") || strings.Contains(page, "<script") {
		t.Error("what was not spent has no picture")
	}
	h.SlicesBy, h.Slices = "month", []report.SliceSpent{{Is: "2026-01", Spent: []*big.Rat{big.NewRat(1, 1), new(big.Rat)}}}
	inOrder(t, write(h), "for each month", "what a unit in each of them has spent", "By month", "2026-01", `width="50"`)
	// Of many orders the one that is furthest from its limit counts.
	h.Units, h.Limits = []string{"rdp 2", "rdp 4", "rdp 8"}, []string{"1", "9", "3"}
	for i := range h.Steps {
		h.Steps[i].Cost = []*big.Rat{big.NewRat(1, 10), big.NewRat(2, 10), big.NewRat(3, 10)}
	}
	h.Slices = nil
	if page := write(h); !strings.Contains(page, "rdp 4 spent") || strings.Contains(page, "rdp 2 spent") {
		t.Error("another order is drawn")
	}
	if page := write(report.History{Dataset: "new", Units: []string{"epsilon"}, Limits: []string{"1"}}); !strings.Contains(page, "Nothing was spent") {
		t.Error("an account without debits")
	}
}
