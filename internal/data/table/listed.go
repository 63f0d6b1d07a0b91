package table

import (
	"context"
	"path/filepath"

	"github.com/dprelease/dprelease/internal/data/store"
	"github.com/dprelease/dprelease/internal/data/store/address"
)

// Listed describes a table whose format keeps a list of its Parquet files and knows columns by numbers. A renamed column
// stays the same column, and a new column under the name of a dropped one is another.
type Listed struct {
	Files  []ListedFile
	Fields []Field
}

// ListedFile is an entry of the list. Name is the path below the folder of the table, with slashes.
type ListedFile struct {
	Name       string
	Rows, Size int64
}

// Field is a column of a listed table. Values are missing in a file without it, unless Absent says why they are not.
type Field struct {
	ID     int32
	Name   string // dotted path for a field of a struct
	Kind   Kind
	Scale  int
	Absent string
}

// NewError makes an Error for another source of rows. It replaces what cannot be printed of detail.
func NewError(code, file, detail string) error { return fail(code, file, detail) }

// Refuse turns an error of the system, a store or a decoder into an Error about a file.
func Refuse(file string, err error) error { return refuse(file, err) }

// locate returns where the files are.
func (l *Listed) locate(ctx context.Context, root string) (*store.Bucket, []located, error) {
	found := make([]located, len(l.Files))
	if !address.Is(root) {
		for i, f := range l.Files {
			found[i].path = filepath.Join(root, filepath.FromSlash(f.Name))
		}
		return nil, found, nil
	}
	bucket, key, err := store.Open(ctx, root)
	if err != nil {
		return nil, nil, refuse(address.Plain(root), err)
	}
	for i, f := range l.Files {
		if found[i].path = f.Name; key != "" {
			found[i].path = key + "/" + f.Name
		}
	}
	return bucket, found, nil
}

// hold compares a file with its entry and gives its columns their names in the list. It returns the columns that are
// younger than the file.
func (l *Listed) hold(f dataFile, i int) (later []keyPart, err error) {
	p, ok := f.(*parquetFile)
	if !ok {
		return nil, fail(CodeUnsupported, f.name(), "is no parquet file")
	}
	if p.size != l.Files[i].Size || p.footer.Rows != l.Files[i].Rows {
		return nil, fail(CodeCorrupt, f.name(), "is not the file that the table lists under this name: its size or its number of rows differs")
	}
	fields, there := map[int32]Field{}, map[int32]bool{}
	for _, field := range l.Fields {
		fields[field.ID] = field
	}
	for k := range p.cols {
		c, id := &p.cols[k], p.footer.Leaves[k].ID
		if id == 0 {
			return nil, fail(CodeUnsupported, f.name(),
				"does not say which columns of the table it holds (its fields have no ids): write the table again with its own tools")
		}
		field, ok := fields[id]
		if !ok {
			c.dropped = true
			continue
		}
		there[id] = true
		switch c.Name = field.Name; {
		case !c.Usable:
		case c.Kind != field.Kind || c.Scale != field.Scale || c.Unsigned:
			*c = unusable(c.Name, "it is of another type in "+f.name()+" than in the schema of the table")
		}
	}
	for _, field := range l.Fields {
		if !there[field.ID] && field.Absent == "" {
			later = append(later, keyPart{key: field.Name, null: true})
		}
	}
	return later, nil
}

// addFields adds the columns of a listed table that no file has.
func (t *Table) addFields(known map[string]bool) {
	for _, f := range t.fields {
		if known[f.Name] {
			continue
		}
		known[f.Name] = true
		c := Column{Name: f.Name, Kind: f.Kind, Scale: f.Scale, Usable: true, Nullable: true}
		switch {
		case f.Absent != "":
			c = unusable(f.Name, f.Absent)
		case f.Kind == Other:
			c = unusable(f.Name, "a type that is not numbers, text or time")
		case f.Kind == Time || f.Kind == Timestamp:
			c.Unit = Microsecond
		}
		t.columns = append(t.columns, c)
	}
}
