package output

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dprelease/dprelease/internal/failure"
	"github.com/dprelease/dprelease/ledger"
)

// ReadReleases finds every release below some folders, and what its files are now:
// what ledger verify compares a ledger with.
func ReadReleases(folders []string) ([]ledger.Seen, error) {
	var out []ledger.Seen
	for _, root := range folders {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && unpublished(d.Name()) {
				return fs.SkipDir
			}
			if d.IsDir() || d.Name() != reportFile {
				return nil
			}
			s, ok := readRelease(filepath.Dir(path))
			if ok {
				out = append(out, s)
			}
			return nil
		})
		if err != nil {
			return nil, failure.New(failure.ExitUsage, "RELEASES_UNREADABLE", "%s cannot be searched for releases: %s", root, failure.Reason(err))
		}
	}
	return out, nil
}

func readRelease(dir string) (ledger.Seen, bool) {
	s := ledger.Seen{Where: dir}
	r, ok := StoredReport(dir)
	if !ok || r.Job.Digest == "" {
		return s, false
	}
	if r.Budget != nil {
		s.Mark = ledger.Mark{Ledger: r.Budget.Ledger, Seq: r.Budget.Sequence, Head: r.Budget.Head}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return s, false
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			continue // it will be missing
		}
		sum := sha256.Sum256(b)
		s.Files = append(s.Files, ledger.Sum{Path: e.Name(), SHA256: hex.EncodeToString(sum[:])})
	}
	return s, true
}
