package output

import (
	"slices"

	"github.com/dprelease/dprelease/internal/data/store/address"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger/postgres"
)

// travelled returns the least safe way on which rows came from databases and stores, "" where all are files of this machine.
func travelled(j *job.Job) string {
	sources := []job.Source{j.Dataset.Source}
	for _, t := range j.Dataset.Tables {
		sources = append(sources, t.Source)
	}
	at := -1
	for _, s := range sources {
		way := postgres.Way("")
		if !s.Postgres.Empty() {
			_, way, _ = postgres.Config(s.Postgres.Reveal())
		} else if address.Is(s.Path) {
			way = postgres.Checked
			if address.Unencrypted(s.Path) {
				way = postgres.Plain
			}
		}
		at = max(at, slices.Index(postgres.Ways, way))
	}
	if at < 0 {
		return ""
	}
	return string(postgres.Ways[at])
}
