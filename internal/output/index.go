package output

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/report"
)

// indexFile stands beside output folders and lists the newest releases that were
// published there, of every ledger: one a line, as ledger, record and hash. With it
// a run need not look into thousands of folders to see the newest.
const indexFile = ".dprelease-releases"

const (
	maxIndexed   = 32  // lines of one ledger that are kept: the newest
	maxWitnesses = 50  // reports beside an output that are read: the newest
	MaxNames     = 256 // names that are looked at where the index knows the ledger
)

// MarkOf is the record of the ledger that paid for a report.
func MarkOf(r *report.Report) ledger.Mark {
	return ledger.Mark{Ledger: r.Budget.Ledger, Seq: r.Budget.Sequence, Head: r.Budget.Head}
}

// Beside are the folders below parent that hold a report, the newest first; of a
// large folder only those among the first names, unless names is negative.
func Beside(parent string, names int) []string {
	d, err := os.Open(parent)
	if err != nil {
		return nil
	}
	defer d.Close()
	entries, _ := d.ReadDir(names) // what could be read
	age := map[string]time.Time{}
	var found []string
	for _, e := range entries {
		if !e.IsDir() && e.Type()&fs.ModeSymlink == 0 || unpublished(e.Name()) {
			continue
		}
		dir := filepath.Join(parent, e.Name())
		if info, err := os.Stat(filepath.Join(dir, reportFile)); err == nil {
			age[dir] = info.ModTime()
			found = append(found, dir)
		}
	}
	slices.SortFunc(found, func(a, b string) int { return age[b].Compare(age[a]) })
	return found[:min(len(found), maxWitnesses)]
}

// IndexOf returns the path of the list of the releases that were published in a folder.
func IndexOf(parent string) string { return filepath.Join(parent, indexFile) }

// ReadIndex reads the list of the releases that were published beside each other.
func ReadIndex(parent string) (all []ledger.Mark) {
	b, err := file.Read(IndexOf(parent), maxReport)
	if err != nil {
		return nil
	}
	for line := range bytes.Lines(b) {
		var m ledger.Mark
		if _, err := fmt.Sscanf(string(line), "%s %d %s\n", &m.Ledger, &m.Seq, &m.Head); err == nil {
			all = append(all, m)
		}
	}
	return all
}

// MarksOf are the marks of one ledger.
func MarksOf(all []ledger.Mark, id string) (out []ledger.Mark) {
	for _, m := range all {
		if m.Ledger == id {
			out = append(out, m)
		}
	}
	return out
}

// remember puts a release into the index of the folder that it will stand in. It
// comes before the release is visible: whatever is visible is listed, unless newer
// ones have taken its place there.
func (f *Folder) remember() error {
	r, ok := ReportIn(f.Files)
	if !ok || r.Budget == nil {
		return nil
	}
	parent := filepath.Dir(f.Final)
	d, err := os.Open(parent)
	if err != nil {
		return err
	}
	defer d.Close()
	// One after another. Where a file system has no locks, a line may be lost.
	if err := takeTurn(d); err != nil {
		return err
	}
	all, mark := ReadIndex(parent), MarkOf(&r)
	if slices.Contains(all, mark) {
		return nil
	}
	all = append(all, mark)
	if mine := MarksOf(all, mark.Ledger); len(mine) > maxIndexed {
		oldest := slices.MinFunc(mine, func(a, b ledger.Mark) int { return cmp.Compare(a.Seq, b.Seq) })
		all = slices.DeleteFunc(all, func(m ledger.Mark) bool { return m == oldest })
	}
	var b bytes.Buffer
	for _, m := range all {
		fmt.Fprintf(&b, "%s %d %s\n", m.Ledger, m.Seq, m.Head)
	}
	temp := filepath.Join(f.Temp, indexFile)
	if err := f.disk.Write(temp, 0o644, b.Bytes()); err != nil {
		return err
	}
	return f.disk.Rename(temp, IndexOf(parent))
}
