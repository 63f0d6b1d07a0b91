package language

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/data/store/address"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/lang"
)

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// noVariable refuses ${…} where it is not replaced: a text that looks replaced
// and is not would be a surprise.
func (c *cursor) noVariable(p lang.Place) bool {
	return !strings.Contains(p.Node.Value, "${") ||
		c.Wrong(p, "variables are replaced only in "+strings.Join(substituted, ", "), "must not hold ${…}")
}

// substituted are the keys in which ${NAME} is replaced.
var substituted = []string{"dataset.source.path", "dataset.source.postgres", "dataset.frame.path", "plugins.*.path", "plugins.*.reads",
	"catalog", "output.dir", "budget.ledger"}

// expand replaces every ${NAME} by the environment variable. Its problems name
// the variable and never its value.
func (c *cursor) expand(p lang.Place) (string, bool) {
	text, ok := p.Node.Value, true
	out := variable.ReplaceAllStringFunc(text, func(ref string) string {
		name := ref[2 : len(ref)-1]
		v, set := c.getenv(name)
		switch {
		case !set:
			ok = c.Wrong(p, "set it before the run", "the environment variable %s is not set", name)
		case v == "":
			ok = c.Wrong(p, "set it before the run", "the environment variable %s is empty", name)
		case strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f }):
			ok = c.Wrong(p, "", "the environment variable %s holds a control character", name)
		}
		return v
	})
	if strings.Contains(variable.ReplaceAllString(text, ""), "${") {
		ok = c.Wrong(p, "write ${NAME}", "has a ${ that is not a variable")
	}
	return out, ok
}

// expanded reads a text and replaces its variables. what is the problem of a value that
// is no text.
func (c *cursor) expanded(p lang.Place, what string) (string, bool) {
	if p.Node.Kind != yaml.ScalarNode {
		return "", c.Wrong(p, "", "%s", what)
	}
	if _, err := checkText(p.Node.Value); err != nil {
		return "", c.Wrong(p, "", "%s", err)
	}
	return c.expand(p)
}

// fileKey declares a key that names a file, joined to the folder of the job.
// Variables are replaced.
func fileKey[T any](name string, joined func(*T) *string, doc string, opts ...option) field[T] {
	path := kind[string]{label: "path", schema: schema{"type": "string", "minLength": 1, "maxLength": maxText}}
	f := key(name, path, joined, doc, opts...)
	f.read = func(c *cursor, p lang.Place, into *T) {
		text, ok := c.path(p)
		if !ok {
			return
		}
		*joined(into) = c.join(text)
	}
	return f
}

// folder is the path of a file or folder, in which variables are replaced.
func folder() kind[string] {
	return kind[string]{label: "path", schema: schema{"type": "string", "minLength": 1, "maxLength": maxText},
		read: func(c *cursor, p lang.Place, into *string) bool {
			text, ok := c.path(p)
			if ok {
				*into = c.join(text)
			}
			return ok
		}}
}

// path reads a path or an address, in which variables are replaced. One with a credential is
// refused here, so that no plan, report or record of a ledger ever holds it.
func (c *cursor) path(p lang.Place) (text string, ok bool) {
	text, ok = c.expanded(p, "must be a path, not "+lang.ShapeOf(p.Node))
	if ok && address.Credential(text) {
		return "", c.Wrong(p, "say it where the SDK of the store looks for it, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "+
			"or in PGPASSWORD", "must not hold a credential")
	}
	if ok && address.Foreign(text) {
		return "", c.Wrong(p, "download the file first, and say its path",
			"must be a path, or an address that begins with %s://: no other store is read", strings.Join(address.Known, "://, "))
	}
	return text, ok
}

// join joins a path to the folder of the job. An address of object storage stays as it is.
func (c *cursor) join(path string) string {
	if path = address.Local(path); address.Is(path) {
		return path
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(c.dir, path)
}

// ledgerSchemes are the beginnings of a ledger's address.
var ledgerSchemes = []string{"sqlite:", "postgres://", "postgresql://"}

// ledgerAddress is the address of a ledger, as it is written. A relative path is
// not joined to the job's folder here: ledger.ParseAddress does that, and does it
// once. The address may hold a password, so no problem repeats it.
func ledgerAddress() kind[job.Secret] {
	return kind[job.Secret]{label: "address of a ledger", schema: schema{"type": "string", "minLength": 1, "maxLength": maxText},
		read: func(c *cursor, p lang.Place, into *job.Secret) bool {
			text, ok := c.expanded(p, "must be an address such as sqlite:ledger.db")
			if !ok {
				return false
			}
			i := slices.IndexFunc(ledgerSchemes, func(s string) bool { return strings.HasPrefix(text, s) })
			if i < 0 {
				return c.Wrong(p, fmt.Sprintf("for example sqlite:ledger.db or %s…", ledgerSchemes[1]), "must begin with %s",
					strings.Join(ledgerSchemes, " or "))
			}
			if scheme := ledgerSchemes[i]; text == scheme {
				return c.Wrong(p, "", "names no ledger after %s", scheme)
			} else if scheme == ledgerSchemes[0] && address.Credential(text) {
				return c.Wrong(p, "name a file of this machine", "must not hold the address of a store, nor a credential")
			}
			*into = job.NewSecret(text)
			return true
		}}
}
