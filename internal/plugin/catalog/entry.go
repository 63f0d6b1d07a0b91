package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/plugin/sandbox"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Entry is one approved plugin.
type Entry struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Summary string `json:"summary,omitempty"`

	// Source is the OCI artifact that it came as, with the digest of its manifest.
	Source string `json:"source,omitempty"`
	// Path is the executable, relative to the catalog's folder.
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	// Files are the other files that it needs, with their digests: those beside it, by
	// their path relative to the catalog's folder, and its interpreter, by an absolute one.
	Files map[string]string `json:"files,omitempty"`
	// Runtime names the versions of the interpreter and the libraries of a script.
	Runtime []string `json:"runtime,omitempty"`

	// What it may do.
	Reads       []string `json:"reads,omitempty"`
	Memory      int64    `json:"memory,omitempty"`
	SelfNoising bool     `json:"self_noising,omitempty"`

	// Result names the ground of its results, as the report of a job does.
	Result string `json:"result,omitempty"`

	// Description is the digest of what it says it is, see [Describe].
	Description string `json:"description_sha256"`
	// Names and Texts are all that it may put into a report, see [Texts].
	Names []string `json:"names"`
	Texts []string `json:"texts"`

	Check Checked `json:"check"`

	By      string    `json:"approved_by"`
	At      time.Time `json:"approved_at"`
	Expires time.Time `json:"expires"`
}

// Checked is the record of the check that came before an approval.
type Checked struct {
	Verdict string `json:"verdict"`
	Suite   string `json:"suite"`
	Seed    uint64 `json:"seed"`
	Sandbox string `json:"sandbox"`
}

// Key returns the name by which jobs know the entry.
func (e Entry) Key() string { return e.Name + "@" + e.Version }

// Intact returns an error unless everything that the plugin is made of is as it was when
// it was approved. Folder is that of the catalog.
func (e Entry) Intact(folder string) error {
	all := map[string]string{e.Path: e.SHA256}
	maps.Copy(all, e.Files)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(folder, path)
		}
		sum, err := file.Digest(path, file.MaxProgram)
		if err != nil {
			return fmt.Errorf("%s of %s is gone or cannot be read", name, e.Key())
		}
		if sum != all[name] {
			return fmt.Errorf("%s of %s has changed since it was approved", name, e.Key())
		}
	}
	return nil
}

// Beside returns the digests of the files that lie beside the executable, by their paths from its folder.
func (e Entry) Beside() map[string]string {
	out := map[string]string{}
	for name, sum := range e.Files {
		if rel, err := filepath.Rel(filepath.Dir(e.Path), name); err == nil && !filepath.IsAbs(name) {
			out[rel] = sum
		}
	}
	return out
}

// Describe is the digest of a description: of everything that the plugin says it is.
func Describe(d sdk.Description) string {
	text, err := json.Marshal(d)
	if err != nil {
		return "" // plain values always marshal
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Interpreter is the program that runs a script, "" where the file is none. Links on the way to it are
// followed.
func Interpreter(path string) string {
	f, err := file.Bounded(path, file.MaxProgram)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := io.ReadFull(f, head)
	program := sandbox.Interpreter(head[:n])
	if program == "" {
		return ""
	}
	if found, err := filepath.EvalSymlinks(program); err == nil {
		return found
	}
	return program
}
