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

	"github.com/dprelease/dprelease/internal/data/file"
)

// Version is the version of the format: specs/catalog-v1.md.
const Version = 1

// maxSize bounds the file of a catalog, in bytes.
const maxSize = 16 << 20

// Catalog is a file of approved plugins.
type Catalog struct {
	Version int `json:"version"`
	// Serial grows by one with each change, so that an old copy can be told.
	Serial  uint64  `json:"serial"`
	Plugins []Entry `json:"plugins"`
	// Signature is that of [Catalog.Signed], in the form of minisign; "" where nobody signs.
	Signature string `json:"signature,omitempty"`

	path  string
	key   *minisign.PublicKey // the key that must have signed; nil: none
	added *os.File            // the note of the plugin that is being added
}

// Read reads a catalog that nobody but its owner, this user or root, can change. Where the
// file PATH.pub lies beside it, that key must have signed it. A signed catalog is remembered: an older
// one, and one without the key, are refused from then on.
func Read(path string) (*Catalog, error) {
	c, err := open(path)
	if err != nil {
		return nil, err
	}
	if err := trusted(path, nil); err != nil {
		return nil, err
	}
	if c.key != nil {
		if err := trusted(path+".pub", nil); err != nil {
			return nil, err
		}
	}
	return c, c.current()
}

// Open reads a catalog to change it; one that is not there yet is empty. It must be signed as for [Read].
func Open(path string) (*Catalog, error) {
	c, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if path, err = filepath.Abs(path); err != nil {
			return nil, err
		}
		c = &Catalog{Version: Version, path: path}
		return c, errors.Join(c.readKey(), c.remember())
	}
	if err != nil {
		return nil, err
	}
	return c, c.current()
}

// Adopt reads a catalog that nobody has signed yet and that somebody is about to sign.
func Adopt(path string) (*Catalog, error) {
	c, err := open(path)
	if err != nil {
		return nil, err
	}
	if err := trusted(path, nil); err != nil {
		return nil, err
	}
	if c.Signature != "" {
		return nil, errors.New("it is signed already")
	}
	return c, c.remember()
}

func open(path string) (*Catalog, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	text, err := file.Read(path, maxSize)
	if err != nil {
		return nil, err
	}
	c := &Catalog{path: path}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil || c.Version != Version {
		return nil, fmt.Errorf("it is not a catalog of version %d", Version)
	}
	if err := distinct(text); err != nil {
		return nil, fmt.Errorf("it is not a catalog: %w", err)
	}
	return c, c.readKey()
}

// current returns an error unless the catalog is signed as it must be and no older than one that was
// used before.
func (c *Catalog) current() error {
	switch {
	case c.key == nil && c.Signature != "":
		return fmt.Errorf("it is signed, and its public key %s.pub is missing", c.path)
	case c.key != nil:
		if err := c.Verify(*c.key); err != nil {
			return err
		}
	}
	return c.remember()
}

// Signed returns what a signature is of: the catalog without it, as one line of JSON. It holds all
// digests.
func (c *Catalog) Signed() ([]byte, error) {
	plain := *c
	plain.Signature = ""
	return json.Marshal(plain)
}

// Verify returns an error unless the key has signed the catalog.
func (c *Catalog) Verify(key minisign.PublicKey) error {
	text, err := c.Signed()
	switch {
	case err != nil:
		return err
	case c.Signature == "":
		return errors.New("it is not signed; dprelease plugin sign signs it")
	case !minisign.Verify(key, text, []byte(c.Signature)):
		return errors.New("its signature is not that of its key")
	}
	return nil
}

// readKey reads the key beside the catalog, where there is one.
func (c *Catalog) readKey() error {
	if _, err := os.Stat(c.path + ".pub"); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	key, err := ReadKey(c.path + ".pub")
	if err != nil {
		return errors.New("the key beside it is not a public key of minisign")
	}
	c.key = &key
	return nil
}

// MaxKey bounds the file of a key, in bytes.
const MaxKey = 64 << 10

// ReadKey reads a public key of minisign.
func ReadKey(path string) (key minisign.PublicKey, err error) {
	text, err := file.Read(path, MaxKey)
	if err != nil {
		return key, err
	}
	return key, key.UnmarshalText(text)
}

// Folder returns the folder of the catalog; the paths of its entries begin there.
func (c *Catalog) Folder() string { return filepath.Dir(c.path) }

// Key is the key that must have signed the catalog; nil: none.
func (c *Catalog) Key() *minisign.PublicKey { return c.key }

// Find returns the entry that a job names as name@version.
func (c *Catalog) Find(key string) (Entry, bool) {
	i := slices.IndexFunc(c.Plugins, func(e Entry) bool { return e.Key() == key })
	if i < 0 {
		return Entry{}, false
	}
	return c.Plugins[i], true
}

// Only returns the entry with this name, if there is one version of it alone.
func (c *Catalog) Only(name string) (out Entry, ok bool) {
	for _, e := range c.Plugins {
		if strings.HasPrefix(e.Key(), name+"@") {
			if ok {
				return Entry{}, false
			}
			out, ok = e, true
		}
	}
	return out, ok
}

// Keys returns the keys by which jobs name the entries.
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

// Write stores the catalog under the next serial number, in place of the former one, whole or not at
// all. Where the catalog has a key, the secret one that belongs to it signs.
func (c *Catalog) Write(secret *minisign.PrivateKey) error {
	c.Serial, c.Signature = c.Serial+1, ""
	if (c.key != nil) != (secret != nil) {
		return errors.New("a catalog with a public key is signed, and no other")
	}
	if secret != nil {
		text, err := c.Signed()
		if err != nil {
			return err
		}
		comment := fmt.Sprintf("dprelease catalog, serial %d", c.Serial)
		c.Signature = string(minisign.SignWithComments(*secret, text, comment, comment))
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	if err := replace(c.path, append(text, '\n'), 0o644); err != nil {
		return err
	}
	return c.remember()
}
