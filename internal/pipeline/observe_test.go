package pipeline_test

import (
	"slices"
	"testing"

	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/columns"
)

type events struct{ all []pipeline.Progress }

func (e *events) Observe(ev pipeline.Progress) { e.all = append(e.all, ev) }

// Under add-remove nothing that is told during a run depends on the number of rows:
// not how often it is told how much is read, at the end of a block of rows or of an
// empty table (P19).
func TestEventsDoNotCountRows(t *testing.T) {
	told := func(rows int) []pipeline.Progress {
		var e events
		path := write(t, tinyJob, "TABLE", tableOf(t, columns.Column{Name: "x", Float64: make([]float64, rows)}),
			"replace-one\n  size: 4", "add-remove", "budget:", "samples:\n  s: {method: poisson, rate: 0.01}\nbudget:",
			"{name: r, ", "{name: q, from: s, mechanism: mean, params: {column: x}, guarantee: {epsilon: 0.1}}\n  - {name: r, ",
			"guarantee: {epsilon: 1}", "guarantee: {epsilon: 0.1}")
		if _, err := runWith(t, path, func(o *pipeline.Options) { o.Observer = &e }); err != nil {
			t.Fatal(err)
		}
		// Where the ledger is made differs from one test folder to the next.
		return slices.DeleteFunc(e.all, func(ev pipeline.Progress) bool { return ev.Kind == "ledger" })
	}
	const block = 1 << 16
	want := told(block)
	shares := 0
	for _, ev := range want {
		if ev.Kind == "progress" {
			shares++
		}
	}
	if shares != 40 { // twenty for each of two draws
		t.Errorf("%d events of progress", shares)
	}
	for _, rows := range tier.Some([]int{0, 1, block - 1, block + 1, 5*block/2 + 3}, 3) {
		if got := told(rows); !slices.Equal(got, want) {
			t.Errorf("the events of a table of %d rows are not those of one of %d", rows, block)
		}
	}
}

// Releases are told in the order of the job, though the first takes longest: which mechanism is ready
// first depends on the rows (P33).
func TestReleasesAreToldInOrder(t *testing.T) {
	x := make([]float64, 200_000)
	for i := range x {
		x[i] = float64(i % 10)
	}
	data := tableOf(t, columns.Column{Name: "x", Float64: x})
	for range 3 {
		var e events
		path := write(t, tinyJob, "TABLE", data, "replace-one\n  size: 4", "add-remove",
			"{name: r, ", "{name: slow, mechanism: median, params: {column: x}, guarantee: {epsilon: 0.1}}\n"+
				"  - {name: b, mechanism: count, params: {}, guarantee: {epsilon: 0.1}}\n  - {name: a, mechanism: sum, params: {column: x}, guarantee: {epsilon: 0.1}}\n  - {name: r, ",
			"guarantee: {epsilon: 1}", "guarantee: {epsilon: 0.1}")
		if _, err := runWith(t, path, func(o *pipeline.Options) { o.Observer = &e }); err != nil {
			t.Fatal(err)
		}
		var done []string
		for _, ev := range e.all {
			if ev.Kind == "release-done" {
				done = append(done, ev.Release)
			}
		}
		if !slices.Equal(done, []string{"slow", "b", "a", "r"}) {
			t.Errorf("told in the order %v", done)
		}
	}
}
