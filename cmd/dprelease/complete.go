package main

import (
	"slices"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
)

// offered are the words that a shell offers for a flag: names of the job that the command
// line names, or fixed words.
var offered = map[string]command.Words{
	"release":        releaseNames,
	"dataset":        func(j *job.Job) []string { return []string{j.Dataset.ID} },
	"columns":        columnNames,
	"keeps":          columnNames,
	"slices-by":      columnNames,
	"from-slices-by": columnNames,
	"unit":           unitNames,
	"from-unit":      unitNames,
	"set":            command.VariableNames,
	"relation":       command.Fixed(relations...),
	"from-relation":  command.Fixed(relations...),
	"sweep":          command.Fixed("rate", "n", "epsilon"),
	"over":           command.Fixed("epsilon", "rho", "n", "rate", "budget"),
	"solve":          command.Fixed("rse<2%", "moe<1%", "se<5", "rmse<5", "noise<1", "half-kept<50"),
	"format":         command.Fixed("parquet", "arrow", "csv"),
	"filter":         command.Fixed(ledger.Basic, ledger.ZCDP, ledger.RDP),
}

func releaseNames(j *job.Job) (out []string) {
	for _, r := range j.Releases {
		out = append(out, r.Name+"\t"+r.Mechanism+" from "+r.From)
	}
	return out
}

func columnNames(j *job.Job) (out []string) {
	for _, c := range j.Dataset.Columns {
		out = append(out, c.Name)
	}
	if s := j.Dataset.Slice; s != nil && !slices.Contains(out, s.Column) {
		out = append(out, s.Column)
	}
	return out
}

func unitNames(j *job.Job) []string { return []string{j.Dataset.Unit} }
