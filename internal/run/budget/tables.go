package budget

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/data/store/address"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/rows"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/ledger"
)

// tablesOf returns what a job takes for private and what for public (P32): its files and its
// lookups, by where they are, by the file itself, whatever names it has, and by their bytes. Only CSV files that are small enough can be
// lookups, so the bytes of no others are read.
func tablesOf(j *job.Job, l *ledger.Ledger, t *run.OpenedTable) (out []ledger.Table, err error) {
	add := func(name, known string, public bool) {
		if known != "" {
			out = append(out, ledger.Table{Name: name, Mark: l.TableMark(known), Public: public})
		}
	}
	for _, part := range t.Parts() {
		of, in, at := j, "dataset", "dataset.source"
		if part.Name() != "" {
			of, in = j.Of(part.Name()), job.Key("dataset.tables", part.Name())
			at = in
		}
		name := j.Pos(at).String() + ": " + at
		for i := range of.Dataset.Lookups {
			lookup := &of.Dataset.Lookups[i]
			at := job.Key(in+".lookups", lookup.Name)
			name := j.Pos(at).String() + ": " + at
			add(name, placeOf(lookup.Path), true)
			add(name, nodeOf(lookup.Path), true)
			add(name, "bytes "+lookup.SHA256, true)
		}
		if part.Table == nil || of.Dataset.Source.Path == "" {
			continue // rows of a database
		}
		for _, path := range part.Table.Files() {
			add(name, placeOf(path), false)
			if !address.Is(path) {
				add(name, nodeOf(path), false)
			}
			if address.Is(path) || !part.Table.FirstRowNames() {
				continue // a lookup is a CSV file of this machine
			}
			text, err := file.Read(path, rows.MaxLookup)
			switch {
			case errors.Is(err, file.ErrLarge):
			case err != nil:
				return nil, j.Wrong(at, "can no longer be read", "")
			default:
				sum := sha256.Sum256(text)
				add(name, "bytes "+hex.EncodeToString(sum[:]), false)
			}
		}
	}
	return out, nil
}

// placeOf returns the place of a file, whatever links lead to it and wherever the program was started.
func placeOf(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	return "place " + path
}
