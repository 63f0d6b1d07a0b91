package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aead.dev/minisign"
)

// Version is the version of the format: specs/catalog-v1.md.
const Version = 1

// maxSize bounds the file of a catalog, in bytes.
const maxSize = 16 << 20

// Catalog is a file of approved plugins.
type Catalog struct {
	Version int     `json:"version"`
	Plugins []Entry `json:"plugins"`

	path string
	key  *minisign.PublicKey // the key that must have signed; nil: none
}

// Read reads a catalog that nobody but its owner, this user or root, can change. Where the
// file PATH.pub lies beside it, every entry that is used must be signed by that key.
func Read(path string) (*Catalog, error) {
	c, err := open(path)
	if err != nil {
		return nil, err
	}
	if err := trusted(path); err != nil {
		return nil, err
	}
	if c.key != nil {
		if err := trusted(path + ".pub"); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Open reads a catalog to change it; one that is not there yet is empty.
func Open(path string) (*Catalog, error) {
	c, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if path, err = filepath.Abs(path); err != nil {
			return nil, err
		}
		c = &Catalog{Version: Version, path: path}
		return c, c.readKey()
	}
	return c, err
}

func open(path string) (*Catalog, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSize {
		return nil, errors.New("it is not a file of a catalog's size")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c := &Catalog{path: path}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil || c.Version != Version {
		return nil, fmt.Errorf("it is not a catalog of version %d", Version)
	}
	return c, c.readKey()
}

// readKey reads the key beside the catalog, where there is one.
func (c *Catalog) readKey() error {
	if _, err := os.Stat(c.path + ".pub"); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	key, err := minisign.PublicKeyFromFile(c.path + ".pub")
	if err != nil {
		return errors.New("the key beside it is not a public key of minisign")
	}
	c.key = &key
	return nil
}

// Folder is where the catalog lies; the paths of its entries begin there.
func (c *Catalog) Folder() string { return filepath.Dir(c.path) }

// Key is the key that must have signed every entry; nil: none.
func (c *Catalog) Key() *minisign.PublicKey { return c.key }

// Find returns the entry that a job names as name@version.
func (c *Catalog) Find(key string) (Entry, bool) {
	i := slices.IndexFunc(c.Plugins, func(e Entry) bool { return e.Key() == key })
	if i < 0 {
		return Entry{}, false
	}
	return c.Plugins[i], true
}

// Keys are how jobs name the entries.
func (c *Catalog) Keys() []string {
	var out []string
	for _, e := range c.Plugins {
		out = append(out, e.Key())
	}
	return out
}

// Put adds an entry, or replaces the one of the same name and version.
func (c *Catalog) Put(e Entry) {
	c.Remove(e.Key())
	c.Plugins = append(c.Plugins, e)
	slices.SortFunc(c.Plugins, func(a, b Entry) int { return strings.Compare(a.Key(), b.Key()) })
}

// Remove takes an entry out and reports whether there was one. Its files stay.
func (c *Catalog) Remove(key string) bool {
	before := len(c.Plugins)
	c.Plugins = slices.DeleteFunc(c.Plugins, func(e Entry) bool { return e.Key() == key })
	return len(c.Plugins) < before
}

// Write stores the catalog in place of the former one, whole or not at all.
func (c *Catalog) Write() error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(c.Folder(), ".catalog-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), c.path)
}
