package iceberg_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	lib "github.com/apache/iceberg-go"

	"github.com/dprelease/dprelease/internal/data/iceberg"
	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/stores/storetest"
)

// snapshots are those of a table under testdata, which testdata/write.go wrote: 400 rows, 300 more, 100 more after a column was
// renamed, one was widened and one was added, and a delete.
func snapshots(t testing.TB, dir string) (ids []int64) {
	t.Helper()
	for _, s := range metadata(t, dir)["snapshots"].([]any) {
		id, err := s.(map[string]any)["snapshot-id"].(json.Number).Int64()
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if len(ids) != 4 {
		t.Fatalf("%d snapshots in %s", len(ids), dir)
	}
	return ids
}

const newest = "metadata/v6.metadata.json"

func metadata(t testing.TB, dir string) (m map[string]any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, newest))
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		t.Fatal(err)
	}
	return m
}

// change makes a copy of a table with other metadata.
func change(t testing.TB, dir string, do func(m map[string]any)) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	m := metadata(t, dir)
	do(m)
	text, err := json.Marshal(m)
	if err == nil {
		err = os.WriteFile(filepath.Join(to, newest), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// read returns the content of a snapshot: rows, columns and the sum of each number column, with missing values counted.
func read(ctx context.Context, path string, id int64) (string, error) {
	tab, err := iceberg.Open(ctx, iceberg.Source{Path: path, Snapshot: id}, table.Spec{})
	if err != nil {
		return "", err
	}
	defer tab.Close()
	return content(ctx, tab)
}

func content(ctx context.Context, tab *table.Table) (string, error) {
	var out strings.Builder
	fmt.Fprintf(&out, "%d rows", tab.Rows())
	for _, c := range tab.Columns() {
		if !c.Usable {
			fmt.Fprintf(&out, "; %s: %s", c.Name, c.Reason)
			continue
		}
		sum, missing := 0.0, 0
		err := tab.Scan(ctx, table.ScanOptions{Columns: []string{c.Name}}, func(b table.Batch) error {
			v := &b.Columns[0]
			for i := range b.Rows {
				switch {
				case v.Null(i):
					missing++
				case v.Float64 != nil:
					sum += v.Float64[i]
				case v.Int64 != nil:
					sum += float64(v.Int64[i])
				default:
					sum += float64(len(v.Dict[v.Codes[i]]))
				}
			}
			return nil
		})
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "; %s %v", c.Name, sum)
		if missing > 0 {
			fmt.Fprintf(&out, " (%d missing)", missing)
		}
	}
	return out.String(), nil
}

// The tables that iceberg-go wrote, in versions 1 to 3: each snapshot has its own rows, under the names that the columns had
// then. What is expected follows from testdata/write.go.
func TestSnapshots(t *testing.T) {
	fares := func(from, to int) (sum int) {
		for i := from; i < to; i++ {
			sum += i % 11
		}
		return sum
	}
	riders := func(to int) (sum int) {
		for i := range to {
			sum += i%4 + 1
		}
		return sum
	}
	want := []string{
		fmt.Sprintf("400 rows; fare %d; borough 2200; riders %d", fares(0, 400), riders(400)),
		fmt.Sprintf("700 rows; fare %d; borough 3850; riders %d", fares(0, 700), riders(700)),
		fmt.Sprintf("800 rows; price %d; borough 4400; riders %d; tip 100 (700 missing)", fares(0, 800), riders(800)),
	}
	for _, version := range []string{"v1", "v2", "v3"} {
		dir := filepath.Join("testdata", version)
		ids := snapshots(t, dir)
		for i, id := range ids[:3] {
			for _, path := range []string{dir, "file://" + absolute(t, dir), filepath.Join(dir, newest)} {
				if got, err := read(t.Context(), path, id); err != nil || got != want[i] {
					t.Errorf("%s, snapshot %d:\n%s %v\nwant\n%s", path, i, got, err, want[i])
				}
			}
		}
		// What the snapshot before knew is still in the older metadata file.
		if got, err := read(t.Context(), filepath.Join(dir, "metadata/v2.metadata.json"), ids[0]); err != nil || got != want[0] {
			t.Errorf("%s, an older metadata file: %s %v", dir, got, err)
		}
		got, err := read(t.Context(), dir, ids[3])
		if version == "v1" { // a delete in version 1 writes the files again
			if !strings.HasPrefix(got, "727 rows") || err != nil {
				t.Errorf("%s after a delete: %s %v", dir, got, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), "delete files or deletion vectors") {
			t.Errorf("%s after a delete: %s %v", dir, got, err)
		}
	}
}

func absolute(t testing.TB, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// The same in object storage, under an address that is not the one in the metadata.
func TestObjectStorage(t *testing.T) {
	s := storetest.Start(t)
	dir := filepath.Join("testdata", "v2")
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		s.Put(t, "lake/trips/"+filepath.ToSlash(rel), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range snapshots(t, dir)[:3] {
		want, err := read(t.Context(), dir, id)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"lake/trips", "lake/trips/" + newest} {
			if got, err := read(t.Context(), s.Address(key), id); err != nil || got != want {
				t.Errorf("%s, snapshot %d: %s %v, want %s", key, i, got, err, want)
			}
		}
	}
	for key, want := range map[string]string{"lake/none": "is no Iceberg table", "lake/trips/metadata/v9.metadata.json": "is not there", "lake/v9.metadata.json": "lies in the folder metadata"} {
		if _, err := read(t.Context(), s.Address(key), 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", key, err, want)
		}
	}
}

// Whatever would be read otherwise than the table means it is refused, and the same table without the change is read.
func TestRefused(t *testing.T) {
	dir := filepath.Join("testdata", "v2")
	ids := snapshots(t, dir)
	set := func(key string, value any) func(map[string]any) { return func(m map[string]any) { m[key] = value } }
	snapshot := func(i int, key string, value any) func(map[string]any) {
		return func(m map[string]any) {
			of := m["snapshots"].([]any)[i].(map[string]any)
			if of[key] = value; value == nil {
				delete(of, key)
			}
		}
	}
	field := func(name, key string, value any) func(map[string]any) {
		return func(m map[string]any) {
			for _, s := range m["schemas"].([]any) {
				for _, f := range s.(map[string]any)["fields"].([]any) {
					if f := f.(map[string]any); f["name"] == name {
						f[key] = value
					}
				}
			}
		}
	}
	// The name of a struct is part of the name of each column in it: here of 3 MB for each of 10.
	nested := func(m map[string]any) {
		for _, s := range m["schemas"].([]any) {
			var inside []any
			for i := range 10 {
				inside = append(inside, map[string]any{"id": 100 + i, "name": fmt.Sprint("f", i), "required": false, "type": "int"})
			}
			of := s.(map[string]any)
			of["fields"] = append(of["fields"].([]any), map[string]any{"id": 99, "name": strings.Repeat("x", 3<<20), "required": false,
				"type": map[string]any{"type": "struct", "fields": inside}})
		}
	}
	for name, c := range map[string]struct {
		change func(map[string]any)
		id     int64
		code   string
		want   string
	}{
		"nothing":              {func(map[string]any) {}, ids[2], "", "tip 100 (700 missing)"},
		"no such snapshot":     {func(map[string]any) {}, 17, table.CodeNotFound, fmt.Sprintf("no snapshot 17, or no longer has it; it has %d as its current one", ids[3])},
		"version":              {set("format-version", 4), ids[0], table.CodeUnsupported, "1, 2 and 3 are"},
		"no metadata":          {set("format-version", "two"), ids[0], table.CodeCorrupt, "no metadata of an Iceberg table"},
		"elsewhere":            {set("location", "/warehouse/city/other"), ids[0], table.CodeUnsupported, "outside its location"},
		"no location":          {set("location", ""), ids[0], table.CodeUnsupported, "outside its location"},
		"up and out":           {snapshot(0, "manifest-list", "/warehouse/city/trips/../../../etc/passwd"), ids[0], table.CodeUnsupported, "outside its location"},
		"out by a scheme":      {snapshot(0, "manifest-list", "s3://other/warehouse/city/trips/metadata/x"), ids[0], table.CodeUnsupported, "outside its location"},
		"a sibling":            {snapshot(0, "manifest-list", "/warehouse/city/trips-2/metadata/x"), ids[0], table.CodeUnsupported, "outside its location"},
		"no manifest list":     {snapshot(0, "manifest-list", nil), ids[0], table.CodeUnsupported, "no manifest list"},
		"list is gone":         {snapshot(0, "manifest-list", "/warehouse/city/trips/metadata/x"), ids[0], table.CodeNotFound, "metadata/x: no such file"},
		"list is json":         {snapshot(0, "manifest-list", "/warehouse/city/trips/"+newest), ids[0], table.CodeCorrupt, "the manifest list cannot be decoded"},
		"list is a folder":     {snapshot(0, "manifest-list", "/warehouse/city/trips/data"), ids[0], table.CodeUnsupported, "not a file"},
		"encrypted":            {snapshot(0, "key-id", "k"), ids[0], table.CodeUnsupported, "encrypted"},
		"which schema":         {snapshot(0, "schema-id", nil), ids[0], table.CodeUnsupported, "which of its schemas"},
		"no schema":            {snapshot(0, "schema-id", 9), ids[0], table.CodeUnsupported, "which of its schemas"},
		"another id":           {field("tip", "id", 9), ids[2], "", "tip 0 (800 missing)"},
		"another type":         {field("fare", "type", "string"), ids[0], "", "fare: it is of another type"},
		"no id":                {field("fare", "id", -1), ids[0], table.CodeLimit, "the schema"},
		"two of one id":        {field("fare", "id", 2), ids[0], table.CodeCorrupt, "the schema of the snapshot cannot be decoded"},
		"names that unfold":    {nested, ids[0], table.CodeLimit, "the schema"},
		"required and younger": {field("tip", "required", true), ids[2], "", "tip: it is not in "},
		"a default":            {field("tip", "initial-default", 5), ids[2], "", "tip: it is not in "},
	} {
		got, err := read(t.Context(), change(t, dir, c.change), c.id)
		var known *table.Error
		switch {
		case err == nil && (c.code != "" || !strings.Contains(got, c.want)):
			t.Errorf("%s: %s, want %s %q", name, got, c.code, c.want)
		case err != nil && (!errors.As(err, &known) || known.Code != c.code || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %s %q", name, err, c.code, c.want)
		}
	}
}

// An identity partition's column that is in no file has its values in the partitions: nobody takes it for missing.
func TestPartitionColumnOutsideFiles(t *testing.T) {
	dir := filepath.Join("testdata", "v2")
	got, err := read(t.Context(), change(t, dir, func(m map[string]any) {
		for _, s := range m["schemas"].([]any) {
			s.(map[string]any)["fields"].([]any)[1].(map[string]any)["id"] = 9
		}
		m["partition-specs"].([]any)[0].(map[string]any)["fields"].([]any)[0].(map[string]any)["source-id"] = 9
	}), snapshots(t, dir)[0])
	if err != nil || !strings.Contains(got, "borough: it is not in the files: its values stand in the partitions") {
		t.Errorf("%s %v", got, err)
	}
}

// Manifests as other writers might write them, in a table whose data files are those of testdata/v2.
func TestManifests(t *testing.T) {
	dir := filepath.Join("testdata", "v2")
	files, err := filepath.Glob(filepath.Join(dir, "data", "*", "*.parquet"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	rel, err := filepath.Rel(dir, files[0])
	if err != nil {
		t.Fatal(err)
	}
	name := "/warehouse/city/trips/" + filepath.ToSlash(rel)
	const plainFile = "../../internal/data/table/testdata/writers/duckdb-snappy.parquet" // DuckDB writes no ids
	plain, err := os.Stat(plainFile)
	if err != nil {
		t.Fatal(err)
	}
	type entry struct {
		content lib.ManifestEntryContent
		name    string
		format  lib.FileFormat
		rows    int64
		size    int64
		status  lib.ManifestEntryStatus
	}
	good := entry{lib.EntryContentData, name, lib.ParquetFile, rowsOf(t, files[0]), info.Size(), lib.EntryStatusADDED}
	with := func(do func(*entry)) entry { e := good; do(&e); return e }
	for what, c := range map[string]struct {
		entries []entry
		want    string
	}{
		"one file":         {[]entry{good}, ""},
		"no file":          {[]entry{with(func(e *entry) { e.status = lib.EntryStatusDELETED })}, "lists no file"},
		"a file too few":   {[]entry{good, {}}, "another number of files"},
		"twice":            {[]entry{good, good}, "lists a file twice"},
		"orc":              {[]entry{with(func(e *entry) { e.format = lib.OrcFile })}, "not Parquet"},
		"positions":        {[]entry{with(func(e *entry) { e.content = lib.EntryContentPosDeletes })}, "delete files or deletion vectors"},
		"equality":         {[]entry{with(func(e *entry) { e.content = lib.EntryContentEqDeletes })}, "delete files or deletion vectors"},
		"fewer rows":       {[]entry{with(func(e *entry) { e.rows-- })}, "its size or its number of rows differs"},
		"another size":     {[]entry{with(func(e *entry) { e.size++ })}, "its size or its number of rows differs"},
		"outside":          {[]entry{with(func(e *entry) { e.name = "/etc/passwd" })}, "outside its location"},
		"a dot in between": {[]entry{with(func(e *entry) { e.name = strings.Replace(e.name, "/data/", "/./data/", 1) })}, "outside its location"},
		"no parquet":       {[]entry{with(func(e *entry) { e.name = "/warehouse/city/trips/metadata/v1.metadata.json" })}, "does not begin and end with PAR1"},
		"no ids of fields": {[]entry{with(func(e *entry) {
			e.name, e.size, e.rows = "/warehouse/city/trips/data/plain.parquet", plain.Size(), rowsOf(t, plainFile)
		})}, "its fields have no ids"},
		"not printable": {[]entry{with(func(e *entry) { e.name += "\x1b[2J" })}, "cannot be printed"},
	} {
		to := change(t, dir, func(m map[string]any) {
			m["snapshots"].([]any)[0].(map[string]any)["manifest-list"] = "/warehouse/city/trips/metadata/list.avro"
		})
		if text, err := os.ReadFile(plainFile); err != nil {
			t.Fatal(err)
		} else if err := os.WriteFile(filepath.Join(to, "data", "plain.parquet"), text, 0o644); err != nil {
			t.Fatal(err)
		}
		schema := lib.NewSchema(0, lib.NestedField{ID: 1, Name: "fare", Type: lib.PrimitiveTypes.Float64})
		var data, list bytes.Buffer
		content := lib.ManifestContentData
		var entries []lib.ManifestEntry
		id := snapshots(t, dir)[0]
		said := int32(len(c.entries))
		for _, e := range c.entries {
			if e == (entry{}) {
				continue
			}
			b, err := lib.NewDataFileBuilder(*lib.UnpartitionedSpec, e.content, e.name, e.format, nil, nil, nil, e.rows, e.size)
			if err != nil {
				t.Fatal(err)
			}
			if e.content != lib.EntryContentData {
				content = lib.ManifestContentDeletes
			}
			if e.content == lib.EntryContentEqDeletes {
				b.EqualityFieldIDs([]int{1})
			}
			entries = append(entries, lib.NewManifestEntryBuilder(e.status, &id, b.Build()).SequenceNum(1).FileSequenceNum(1).Build())
			if e.status == lib.EntryStatusDELETED {
				said--
			}
		}
		w, err := lib.NewManifestWriter(2, &data, *lib.UnpartitionedSpec, schema, id, lib.WithManifestWriterContent(content))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			add := w.Add
			if e.Status() == lib.EntryStatusDELETED {
				add = w.Delete
			}
			if err := add(e); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		m := lib.NewManifestFile(2, "/warehouse/city/trips/metadata/one.avro", int64(data.Len()), 0, id).Content(content).SequenceNum(1, 1).AddedFiles(said).Build()
		seq := int64(1)
		if err := lib.WriteManifestList(2, &list, id, nil, &seq, 0, []lib.ManifestFile{m}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.WriteFile(filepath.Join(to, "metadata", "one.avro"), data.Bytes(), 0o644), os.WriteFile(filepath.Join(to, "metadata", "list.avro"), list.Bytes(), 0o644)); err != nil {
			t.Fatal(err)
		}
		got, err := read(t.Context(), to, id)
		if what == "one file" {
			if err != nil || !strings.HasPrefix(got, fmt.Sprint(good.rows, " rows")) {
				t.Errorf("%s: %s %v", what, got, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s %v, want %q", what, got, err, c.want)
		}
	}
}

func rowsOf(t testing.TB, path string) int64 {
	t.Helper()
	tab, err := table.Open(t.Context(), table.Spec{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Close()
	return tab.Rows()
}

// Which metadata file of a folder is read.
func TestNewest(t *testing.T) {
	dir := filepath.Join("testdata", "v2")
	id := snapshots(t, dir)[0]
	for name, c := range map[string]struct{ add, want string }{
		"a lower number": {"metadata/00003-9e5b.metadata.json", "400 rows"}, "the same number": {"metadata/00006-9e5b.metadata.json", "several metadata files of the highest number"},
		"a higher number": {"metadata/00010-9e5b.metadata.json", "no metadata of an Iceberg table"}, "no number": {"metadata/last.metadata.json", "400 rows"},
	} {
		to := change(t, dir, func(map[string]any) {})
		if err := os.WriteFile(filepath.Join(to, c.add), []byte("[]"), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := read(t.Context(), to, id); !strings.Contains(got+fmt.Sprint(err), c.want) {
			t.Errorf("%s: %s %v, want %q", name, got, err, c.want)
		}
	}
}

// Metadata may be packed with gzip. What unpacks to more than is read is refused.
func TestPacked(t *testing.T) {
	dir := filepath.Join("testdata", "v2")
	text, err := os.ReadFile(filepath.Join(dir, newest))
	if err != nil {
		t.Fatal(err)
	}
	for want, more := range map[string]int{"400 rows": 0, "not to a size that is read": 65 << 20} {
		to := change(t, dir, func(map[string]any) {})
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(append(slices.Clone(text), bytes.Repeat([]byte(" "), more)...))
		w.Close()
		if err := os.WriteFile(filepath.Join(to, "metadata", "v7.gz.metadata.json"), packed.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := read(t.Context(), to, snapshots(t, dir)[0]); !strings.Contains(got+fmt.Sprint(err), want) {
			t.Errorf("%s %v, want %q", got, err, want)
		}
	}
}

// Damaged metadata gives an error of the table, or the table: no panic, and no rows that are not the snapshot's.
func TestDamaged(t *testing.T) {
	dir := filepath.Join("testdata", "v2")
	id := snapshots(t, dir)[1]
	whole, err := read(t.Context(), dir, id)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "metadata", "*.avro"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	to := change(t, dir, func(map[string]any) {})
	rng := rand.New(rand.NewPCG(1, 2))
	failed := 0
	for _, name := range append(files, filepath.Join(dir, newest)) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		into := filepath.Join(to, "metadata", filepath.Base(name))
		for i := range 60 {
			bad := slices.Clone(text)
			switch i % 3 {
			case 0:
				bad[rng.IntN(len(bad))] ^= byte(1 << rng.IntN(8))
			case 1:
				bad = bad[:rng.IntN(len(bad))]
			default:
				for range 8 {
					bad[rng.IntN(len(bad))] = byte(rng.Uint32())
				}
			}
			if err := os.WriteFile(into, bad, 0o644); err != nil {
				t.Fatal(err)
			}
			got, err := read(t.Context(), to, id)
			var known *table.Error
			switch {
			case err == nil && !strings.HasPrefix(got, "700 rows"):
				t.Errorf("%s, damage %d: read %s, want %s", name, i, got, whole)
			case err != nil && !errors.As(err, &known):
				t.Errorf("%s, damage %d: %v", name, i, err)
			case err != nil:
				failed++
			}
		}
		if err := os.WriteFile(into, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if failed < 100 {
		t.Errorf("only %d damaged tables were refused", failed)
	}
}
