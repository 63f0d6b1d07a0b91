package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dprelease/dprelease/internal/data/file"
)

// seen is this user's memory of a signed catalog. It exposes an old copy of the catalog, and one
// without its key.
type seen struct {
	Catalog string `json:"catalog"` // its path, for people
	Key     string `json:"key"`     // the public key that signed it
	Serial  uint64 `json:"serial"`  // of the latest one that was used
}

// stateFile returns the path of the file that remembers a catalog: outside its own folder, so that
// whoever can put an old copy there cannot put back this. "" where this user has no folder for it.
func stateFile(path string) string {
	base := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil || !filepath.IsAbs(home) {
			return ""
		}
		base = filepath.Join(home, ".local", "state")
	}
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(base, "dprelease", "catalogs", hex.EncodeToString(sum[:16])+".json")
}

// remember returns an error if the catalog was signed before and is not now, was signed by another
// key, or is older than one that was used. Otherwise it remembers the catalog, if it is signed.
func (c *Catalog) remember() error {
	at := stateFile(c.path)
	if at == "" {
		if c.key == nil {
			return nil
		}
		return errors.New("it is signed, and there is no folder to remember which one was used last; set HOME or XDG_STATE_HOME")
	}
	var last seen
	text, err := file.Read(at, 1<<16)
	switch known := !errors.Is(err, fs.ErrNotExist); {
	case known && (err != nil || json.Unmarshal(text, &last) != nil):
		return fmt.Errorf("what is remembered of it cannot be read: %s", at)
	case known && c.key == nil:
		return fmt.Errorf("it was signed until now, and its public key %s.pub is missing; if that is meant, remove %s", c.path, at)
	case c.key == nil:
		return nil
	case known && last.Key != c.key.String():
		return fmt.Errorf("its public key is not the one that signed it until now; if that is meant, remove %s", at)
	case known && c.Serial < last.Serial:
		return fmt.Errorf("it is an old copy: its serial number is %d, and %d was used already; if that is meant, remove %s", c.Serial,
			last.Serial, at)
	case known && c.Serial == last.Serial:
		return nil
	}
	return c.note(at)
}

// note writes down the catalog as the latest one, whole or not at all.
func (c *Catalog) note(at string) error {
	text, err := json.Marshal(seen{c.path, c.key.String(), c.Serial})
	if err == nil {
		err = os.MkdirAll(filepath.Dir(at), 0o700)
	}
	if err == nil {
		err = replace(at, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("it is signed, and which one was used last cannot be written down in %s; set XDG_STATE_HOME to a folder that can "+
			"be written", filepath.Dir(at))
	}
	return nil
}

// replace writes a file in place of the former one, whole or not at all.
func replace(path string, text []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".catalog-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
