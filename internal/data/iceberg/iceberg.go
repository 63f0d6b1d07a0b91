package iceberg

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"path/filepath"

	"github.com/dprelease/dprelease/internal/data/store"
	"github.com/dprelease/dprelease/internal/data/store/address"
	"github.com/dprelease/dprelease/internal/data/store/call"
	"github.com/dprelease/dprelease/internal/data/table"
)

// Source names a snapshot of a table: Path is the table's folder, or one of its metadata files.
type Source struct {
	Path     string
	Snapshot int64
}

// Found is the answer of the companion: the folder of the table, and what the snapshot has.
type Found struct {
	Path   string
	Listed table.Listed
}

// Open opens the table as the snapshot has it. It fills in Path and Listed of spec. It reads no row.
func Open(ctx context.Context, s Source, spec table.Spec) (*table.Table, error) {
	name := address.Plain(s.Path)
	a, err := store.Ask(ctx, call.Request{Kind: call.Snapshot, Address: s.Path, Snapshot: s.Snapshot})
	switch {
	case errors.Is(err, store.ErrProgram):
		return nil, table.NewError(table.CodeUnreadable, name, "is an Iceberg table, whose metadata the program "+call.Program+
			" reads: it must stand in the same folder as this program, and does not, or does not start (make build makes both)")
	case err != nil:
		return nil, table.Refuse(name, err)
	case a.Refused != nil:
		return nil, table.NewError(a.Refused.Code, a.Refused.File, a.Refused.Detail)
	}
	var found Found
	if gob.NewDecoder(bytes.NewReader(a.Data)).Decode(&found) != nil {
		return nil, table.Refuse(name, store.ErrAnswer)
	}
	for _, f := range found.Listed.Files {
		if !filepath.IsLocal(filepath.FromSlash(f.Name)) {
			return nil, table.Refuse(name, store.ErrAnswer)
		}
	}
	spec.Path, spec.Listed = found.Path, &found.Listed
	return table.Open(ctx, spec)
}
