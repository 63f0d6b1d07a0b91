package main

import (
	"math"
	"strings"
)

// guarantee bounds the cost of a release.
type guarantee struct{ epsilon, delta string }

func (g guarantee) String() string {
	if g.delta == "0" {
		return "ε " + g.epsilon
	}
	return "ε " + g.epsilon + ", δ " + g.delta
}

var guarantees = []guarantee{{"0.1", "0"}, {"0.1", "1e-6"}, {"1", "0"}, {"1", "1e-6"}}

// task is a statistic that all tools are asked for.
type task struct {
	name, title string
	how         string // what the program does
	release     string // of a job; ALL stands for the guarantee, FROM for the sample
	by          string // the column that names a cell
	needsDelta  bool
	tables      int // so many tables share the runs, because one table may suit a tool by accident; 0 for one
	also        []way
	way         way
}

// way is another way in which a tool does a task.
type way struct {
	tool  string
	name  string // of the task in the tool's script; "" for that of the task
	value string // the column of a release that holds the values; "" for estimate
	note  string // how it is done
	param string // is added to the parameters of the release
}

// ways are the ways in which a tool does a task.
func (t task) ways(tool string) []task {
	out := []task{t}
	for _, w := range t.also {
		if w.tool == tool {
			other := t
			other.way = w
			if w.param != "" {
				other.how, other.release = w.note, strings.Replace(t.release, "params: {", "params: {"+w.param+", ", 1)
			}
			out = append(out, other)
		}
	}
	return out
}

var tasks = []task{
	{name: "count", title: "How many rows", how: "count", release: "mechanism: count, guarantee: ALL"},
	{name: "counts", title: "Counts of 50 groups", how: "count, by", release: "mechanism: count, by: [region], guarantee: ALL", by: "region"},
	{name: "means", title: "Means of 50 groups", how: "mean, by",
		release: "mechanism: mean, by: [region], params: {column: x}, guarantee: ALL", by: "region"},
	{name: "variance", title: "Variance", how: "variance", release: "mechanism: variance, params: {column: x}, guarantee: ALL"},
	{name: "median", title: "Median", how: "quantiles, step 0.01",
		release: "mechanism: quantiles, params: {column: x, quantiles: [0.5], step: 0.01}, guarantee: ALL", by: "quantile",
		tables: 20},
	{name: "quantiles", title: "Five quantiles", how: "quantiles, step 0.01",
		release: "mechanism: quantiles, params: {column: x, quantiles: [0.1, 0.25, 0.5, 0.75, 0.9], step: 0.01}, guarantee: ALL",
		by:      "quantile",
		tables:  20},
	{name: "keys", title: "Counts of towns that nobody lists", how: "keys, paid once",
		release: "mechanism: count, by: [town], keys: {at_most: 1000}, guarantee: ALL",
		by:      "town", needsDelta: true},
	{name: "visits", title: "Visits of persons with many, by 50 wards", how: "cap of one row in 15 wards, count, by",
		release: "mechanism: count, by: [ward], guarantee: ALL", by: "ward"},
	{name: "pairs", title: "All 45 tables of two of ten columns", how: "marginals",
		release:    "mechanism: marginals, params: {columns: [c0, c1, c2, c3, c4, c5, c6, c7, c8, c9], ways: 2}, guarantee: ALL",
		needsDelta: true,
		also:       []way{{tool: "dprelease", value: "whole", note: "marginals, finish: whole", param: "finish: whole"}}},
	{name: "sampled", title: "Mean of a simple random sample of a tenth", how: "srswor, mean, amplified",
		release: "from: FROM, mechanism: mean, params: {column: x}, guarantee: ALL"},
}

// score is the error of a task: the root mean square over runs and the cells that have a value, its standard error, and how many
// cells had one.
type score struct {
	rmse, se, found float64
}

func (t task) score(w *world, runs []map[string]float64) (s score) {
	truth := w.truth[t.name]
	var of []float64
	for _, run := range runs {
		squares, n := 0.0, 0.0
		for cell, want := range truth {
			got, shown := run[cell]
			if !shown { // a key that was not found, or a value that is blank because noise is all that there is
				continue
			}
			squares, n = squares+(got-want)*(got-want), n+1
		}
		s.found += n / float64(len(runs))
		if n > 0 {
			of = append(of, squares/n)
		}
	}
	mean, spread := 0.0, 0.0
	for _, x := range of {
		mean += x / float64(len(of))
	}
	for _, x := range of {
		spread += (x - mean) * (x - mean)
	}
	s.rmse = math.Sqrt(mean)
	if k := float64(len(of)); k > 1 && mean > 0 {
		s.se = math.Sqrt(spread/(k-1)/k) / (2 * s.rmse)
	}
	return s
}
