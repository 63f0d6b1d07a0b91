package iceberg

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	lib "github.com/apache/iceberg-go"

	"github.com/dprelease/dprelease/internal/data/iceberg"
	"github.com/dprelease/dprelease/internal/data/table"
)

// Limits of the metadata. Tables that can be read as a whole are far below them.
const (
	maxMetadata  = 64 << 20
	maxList      = 16 << 20
	maxManifest  = 32 << 20
	maxUnpacked  = 256 << 20 // of a manifest, which is read entry by entry
	maxFiles     = 100_000
	maxFieldsIn  = 10_000
	maxNestingIn = 64
	maxNamesIn   = 16 << 20 // bytes of the names of all columns, each with the names of the structs around it
)

// List returns the files and columns of a snapshot of the table in a folder, or beside a metadata file. It reads no row.
func List(ctx context.Context, path string, snapshot int64) (*iceberg.Found, error) {
	f, name, err := openFolder(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.close()
	if name == "" {
		if name, err = f.newest(ctx); err != nil {
			return nil, err
		}
	}
	r := &reader{folder: f, name: name}
	listed, err := r.list(ctx, snapshot)
	if err != nil {
		return nil, err
	}
	return &iceberg.Found{Path: f.root + f.options, Listed: *listed}, nil
}

// metadata holds the parts of a metadata file that matter here.
type metadata struct {
	Version   int               `json:"format-version"`
	Location  string            `json:"location"`
	Current   *int64            `json:"current-snapshot-id"`
	Schema    json.RawMessage   `json:"schema"` // of version 1
	Schemas   []json.RawMessage `json:"schemas"`
	Spec      []partition       `json:"partition-spec"` // of version 1
	Specs     []spec            `json:"partition-specs"`
	Snapshots []snapshot        `json:"snapshots"`
}

type spec struct {
	Fields []partition `json:"fields"`
}

type partition struct {
	Source    int    `json:"source-id"`
	Sources   []int  `json:"source-ids"`
	Transform string `json:"transform"`
}

type snapshot struct {
	ID     int64  `json:"snapshot-id"`
	Schema *int   `json:"schema-id"`
	List   string `json:"manifest-list"`
	Key    string `json:"key-id"`
}

// reader reads the metadata of one table. Its errors name the metadata file.
type reader struct {
	folder *folder
	name   string
	meta   metadata
}

func (r *reader) fail(code, format string, a ...any) error {
	return table.NewError(code, r.folder.name(r.name), fmt.Sprintf(format, a...))
}

// guarded runs a decoder of the library, which may panic on damaged bytes. It drops the decoder's error texts.
func (r *reader) guarded(what string, do func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = r.fail(table.CodeCorrupt, "%s cannot be decoded", what)
		}
	}()
	var known *table.Error
	if err = do(); err != nil && !errors.As(err, &known) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		err = r.fail(table.CodeCorrupt, "%s cannot be decoded", what)
	}
	return err
}

// list returns the files and columns of a snapshot.
func (r *reader) list(ctx context.Context, id int64) (*table.Listed, error) {
	if err := r.load(ctx); err != nil {
		return nil, err
	}
	m := &r.meta
	at := slices.IndexFunc(m.Snapshots, func(s snapshot) bool { return s.ID == id })
	if at < 0 {
		current := "has no snapshot yet"
		if m.Current != nil && *m.Current >= 0 {
			current = fmt.Sprintf("has %d as its current one", *m.Current)
		}
		return nil, r.fail(table.CodeNotFound, "the table has no snapshot %d, or no longer has it; it %s", id, current)
	}
	s := &m.Snapshots[at]
	switch {
	case s.List == "":
		return nil, r.fail(table.CodeUnsupported, "the snapshot has no manifest list: an early version of Iceberg wrote it")
	case s.Key != "":
		return nil, r.fail(table.CodeUnsupported, "the snapshot is encrypted")
	}
	out := &table.Listed{}
	err := r.guarded("the schema of the snapshot", func() (err error) {
		out.Fields, err = r.fields(s)
		return err
	})
	if err == nil {
		err = r.files(ctx, s, out)
	}
	return out, err
}

// load reads the metadata file.
func (r *reader) load(ctx context.Context) error {
	text, err := r.folder.read(ctx, r.name, maxMetadata)
	if err != nil {
		return err
	}
	if bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		in, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			return r.fail(table.CodeCorrupt, "cannot be unpacked")
		}
		if text, err = io.ReadAll(io.LimitReader(in, maxMetadata+1)); err != nil || len(text) > maxMetadata {
			return r.fail(table.CodeCorrupt, "cannot be unpacked, or not to a size that is read")
		}
	}
	switch err := json.Unmarshal(text, &r.meta); {
	case err != nil:
		return r.fail(table.CodeCorrupt, "is no metadata of an Iceberg table")
	case r.meta.Version < 1 || r.meta.Version > 3:
		return r.fail(table.CodeUnsupported, "is of a version of the Iceberg format that is not read: 1, 2 and 3 are")
	}
	return nil
}

// fields returns the columns of a snapshot: those of the schema that the table had then.
func (r *reader) fields(s *snapshot) ([]table.Field, error) {
	m := &r.meta
	if len(m.Schemas) == 0 && len(m.Schema) > 0 {
		m.Schemas = []json.RawMessage{m.Schema}
	}
	var schema *lib.Schema
	for _, text := range m.Schemas {
		one := &lib.Schema{}
		if err := json.Unmarshal(text, one); err != nil {
			return nil, err
		}
		if s.Schema == nil && len(m.Schemas) == 1 || s.Schema != nil && one.ID == *s.Schema {
			schema = one
		}
	}
	if schema == nil {
		return nil, r.fail(table.CodeUnsupported, "the table does not say which of its schemas the snapshot has")
	}
	identity := map[int]bool{}
	for _, fields := range append([]spec{{m.Spec}}, m.Specs...) {
		for _, p := range fields.Fields {
			for _, source := range append(p.Sources, p.Source) {
				identity[source] = identity[source] || p.Transform == "identity"
			}
		}
	}
	w := &walk{identity: identity}
	if !w.add("", schema.Fields(), true, 0) {
		return nil, r.fail(table.CodeLimit, "the schema of the snapshot has too many columns, nests too deep, or has names that are too long")
	}
	return w.out, nil
}

// walk goes through a schema.
type walk struct {
	identity map[int]bool // the sources of identity partitions
	names    int          // bytes so far
	out      []table.Field
}

func (w *walk) add(prefix string, fields []lib.NestedField, required bool, depth int) bool {
	for _, f := range fields {
		if w.names += len(prefix) + len(f.Name); w.names > maxNamesIn {
			return false
		}
		required := required && f.Required
		if inner, ok := f.Type.(*lib.StructType); ok {
			if depth > maxNestingIn || !w.add(prefix+f.Name+".", inner.Fields(), required, depth+1) {
				return false
			}
			continue
		}
		if f.ID <= 0 || f.ID > math.MaxInt32 || len(w.out) == maxFieldsIn {
			return false
		}
		column := table.Field{ID: int32(f.ID), Name: prefix + f.Name, Kind: cmp.Or(kinds[f.Type.String()], table.Other)}
		if d, ok := f.Type.(lib.DecimalType); ok {
			column.Kind, column.Scale = table.Decimal, d.Scale()
		}
		switch { // in a file that is older than the column, its values may only be missing if none of this holds
		case w.identity[f.ID]:
			column.Absent = "it is not in the files: its values stand in the partitions"
		case f.InitialDefault != nil:
			column.Absent = "it is younger than some files, where it has a default value"
		case required:
			column.Absent = "it is required, and not in the files"
		}
		w.out = append(w.out, column)
	}
	return true
}

var kinds = map[string]table.Kind{
	"boolean": table.Bool, "int": table.Int, "long": table.Int, "float": table.Float, "double": table.Float,
	"date": table.Date, "time": table.Time, "timestamp": table.Timestamp, "timestamptz": table.Timestamp,
	"timestamp_ns": table.Timestamp, "timestamptz_ns": table.Timestamp, "string": table.String, "binary": table.String,
}

// files finds the files of a snapshot.
func (r *reader) files(ctx context.Context, s *snapshot, out *table.Listed) error {
	text, err := r.avro(ctx, s.List, maxList, maxList)
	if err != nil {
		return err
	}
	var manifests []lib.ManifestFile
	if err := r.guarded("the manifest list", func() (err error) {
		manifests, err = lib.ReadManifestList(bytes.NewReader(text))
		return err
	}); err != nil {
		return err
	}
	for _, m := range manifests {
		text, err := r.avro(ctx, m.FilePath(), maxManifest, maxUnpacked)
		if err != nil {
			return err
		}
		if err := r.guarded("a manifest", func() error { return r.manifest(ctx, m, text, out) }); err != nil {
			return err
		}
	}
	slices.SortFunc(out.Files, func(a, b table.ListedFile) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(out.Files); i++ {
		if out.Files[i].Name == out.Files[i-1].Name {
			return r.fail(table.CodeCorrupt, "the snapshot lists a file twice")
		}
	}
	if len(out.Files) == 0 {
		return r.fail(table.CodeNotFound, "the snapshot lists no file")
	}
	return nil
}

// avro reads a list or a manifest.
func (r *reader) avro(ctx context.Context, name string, most, unpacked int64) ([]byte, error) {
	rel, err := r.folder.rel(r.meta.Location, name)
	if err != nil {
		return nil, err
	}
	text, err := r.folder.read(ctx, rel, most)
	if err == nil && !unpacksTo(text, unpacked) {
		err = table.NewError(table.CodeCorrupt, r.folder.name(rel), "cannot be unpacked, or not to a size that is read")
	}
	return text, err
}

// manifest adds the live files of a manifest.
func (r *reader) manifest(ctx context.Context, m lib.ManifestFile, text []byte, out *table.Listed) error {
	in, err := lib.NewManifestReaderWithProjection(m, bytes.NewReader(text), lib.ManifestEntryProjection{})
	if err != nil {
		return err
	}
	defer in.Close()
	for live := int32(0); ; live++ {
		entry, err := in.ReadEntry()
		switch {
		case err == io.EOF && m.Version() > 1 && live != m.AddedDataFiles()+m.ExistingDataFiles():
			return r.fail(table.CodeCorrupt, "a manifest has another number of files than the manifest list says")
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case entry.Status() == lib.EntryStatusDELETED:
			live--
			continue
		}
		file := entry.DataFile()
		switch {
		case file.ContentType() != lib.EntryContentData || m.ManifestContent() != lib.ManifestContentData:
			return r.fail(table.CodeUnsupported, "the snapshot has delete files or deletion vectors: some rows of its files do not count; "+
				"rewrite the files of the table (rewrite_data_files), and name the new snapshot")
		case file.FileFormat() != lib.ParquetFile:
			return r.fail(table.CodeUnsupported, "the snapshot has files that are not Parquet")
		case len(out.Files) == maxFiles:
			return r.fail(table.CodeLimit, "the snapshot lists more than %d files", maxFiles)
		}
		rel, err := r.folder.rel(r.meta.Location, file.FilePath())
		if err != nil {
			return err
		}
		out.Files = append(out.Files, table.ListedFile{Name: rel, Rows: file.Count(), Size: file.FileSizeBytes()})
	}
}
