package table

import (
	"context"
	"fmt"
	"iter"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// keyPart is a folder called key=value, as Hive and others name the parts of a table.
type keyPart struct {
	key, value string
	null       bool
	column     *Column // describes the values; the same in all files
}

// keyPartOf reads the name of a folder.
func keyPartOf(name string) (keyPart, bool) {
	key, value, ok := strings.Cut(name, "=")
	if !ok || key == "" {
		return keyPart{}, false
	}
	if plain, err := url.PathUnescape(value); err == nil {
		value = plain
	}
	return keyPart{key: key, value: value, null: value == "__HIVE_DEFAULT_PARTITION__"}, true
}

// part returns the file's folder of a key, or nil.
func (f *member) part(key string) *keyPart {
	if i := slices.IndexFunc(f.parts, func(p keyPart) bool { return p.key == key }); i >= 0 {
		return &f.parts[i]
	}
	return nil
}

// addKeys adds the columns in the names of folders. A column of that name inside the files wins. The values are whole
// numbers if all of them are written as such ("7", not "07"), and texts otherwise. As in a CSV file, the job may declare a
// kind for texts, and a text that is no such value is missing.
func (t *Table) addKeys(known map[string]bool) {
	for _, with := range t.files {
		for _, named := range with.parts {
			if known[named.key] {
				continue
			}
			known[named.key] = true
			c := Column{Name: named.key, Kind: Int, Usable: true, folder: true}
			for _, f := range t.files {
				p := f.part(named.key)
				if p == nil {
					c = unusable(named.key, "it is not in the folders of "+f.name())
					break
				}
				n, err := strconv.ParseInt(p.value, 10, 64)
				if !p.null && (err != nil || strconv.FormatInt(n, 10) != p.value) {
					c.Kind = String
				}
				c.Nullable = c.Nullable || p.null
			}
			switch said := t.kinds[c.Name]; {
			case c.Kind == Int && said == String:
				c.Kind = String
			case c.Kind == String && (said == Float || said == Bool || said == Date || said == Timestamp):
				if c.Kind, c.Text, c.Nullable = said, true, true; said == Timestamp {
					c.Unit = Microsecond
				}
			}
			for _, f := range t.files {
				f.at = append(f.at, -1)
				if p := f.part(named.key); p != nil {
					p.column = &c
				}
			}
			t.columns = append(t.columns, c)
		}
	}
}

// The methods below are those of dataFile, with columns named by their place in the table.

func (f *member) verifyColumns(ctx context.Context, cols []int, workers int) error {
	var own []int
	var all []extent
	for _, col := range cols {
		if f.at[col] >= 0 {
			own = append(own, f.at[col])
			all = append(all, f.stored(f.at[col])...)
		}
	}
	if err := f.announce(ctx, all); err != nil {
		return err
	}
	return f.verify(ctx, own, workers)
}

func (f *member) piecesOf(t *Table, col int, r *reading) iter.Seq[*piece] {
	if f.at[col] >= 0 {
		return f.pieces(f.at[col], r)
	}
	return f.constant(f.part(t.columns[col].Name))
}

func (f *member) segmentsOf(col int) []extent {
	if f.at[col] >= 0 {
		return f.segments(f.at[col])
	}
	return nil
}

func (f *member) storageOf(t *Table, col int) string {
	if f.at[col] >= 0 {
		return f.storage(f.at[col])
	}
	p := f.part(t.columns[col].Name)
	return fmt.Sprintf("folder %q %v", p.value, p.null)
}

// constant yields the value of a folder for every row of its file.
func (f *member) constant(p *keyPart) iter.Seq[*piece] {
	return func(yield func(*piece) bool) {
		dict := newTexts([]string{p.value})
		first := int64(0)
		for _, rows := range f.groups() {
			for from := int64(0); from < rows; from += blockRows {
				n := int(min(blockRows, rows-from))
				q := &piece{first: first + from, rows: n, cost: int64(n) * 9, glance: sure}
				q.decode = func(w *worker, out *vec) error {
					number, whole, ok := p.column.read(p.value)
					if p.null || !ok || math.IsNaN(number) { // the place of a missing value holds zero
						number, whole = 0, 0
						if err := w.arena.bitmap(out, n, false); err != nil {
							return err
						}
					}
					out.dict = dict
					return w.fill(shapeOf(p.column), n, n, out, func(v *vec) error {
						clear(v.codes)
						for i := range v.i64 {
							v.i64[i] = whole
						}
						for i := range v.f64 {
							v.f64[i] = number
						}
						return nil
					})
				}
				if !yield(q) {
					return
				}
			}
			first += rows
		}
	}
}
