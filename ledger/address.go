package ledger

import (
	"net/url"
	"path/filepath"
	"strings"
)

// Address is the place of a ledger. It prints without its password.
type Address struct {
	sqlite   string // the path of the file
	postgres string // the connection string
	shown    string
}

const (
	sqliteScheme = "sqlite:"
	// DefaultName is the file of the ledger of a job that names none, in the job's
	// folder.
	DefaultName = "dprelease.db"
)

// ParseAddress reads sqlite:PATH or postgres://…; a relative path is below dir.
// An empty text is the default ledger in dir.
func ParseAddress(text, dir string) (Address, error) {
	switch {
	case text == "":
		return sqliteAddress(DefaultName, dir), nil
	case strings.HasPrefix(text, sqliteScheme):
		path := strings.TrimPrefix(strings.TrimPrefix(text, sqliteScheme), "//")
		if path == "" || strings.ContainsAny(path, "?#\x00") {
			return Address{}, refuse(CodeAddress, "a sqlite address is sqlite:PATH, and the path must not hold ? or #")
		}
		return sqliteAddress(path, dir), nil
	case strings.HasPrefix(text, "postgres://"), strings.HasPrefix(text, "postgresql://"):
		u, err := url.Parse(text)
		if err != nil {
			return Address{}, refuse(CodeAddress, "the postgres address is not a URL")
		}
		shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
		return Address{postgres: text, shown: shown.String()}, nil
	}
	return Address{}, refuse(CodeAddress, "a ledger's address is sqlite:PATH or postgres://USER@HOST/DATABASE")
}

func sqliteAddress(path, dir string) Address {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return Address{sqlite: path, shown: sqliteScheme + path}
}

// String is the address without user, password and options.
func (a Address) String() string { return a.shown }

// Full is String with an absolute path.
func (a Address) Full() string {
	if path, err := filepath.Abs(a.sqlite); a.sqlite != "" && err == nil {
		return sqliteScheme + path
	}
	return a.shown
}

// GoString is String.
func (a Address) GoString() string { return a.shown }
