package job

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// noVariable refuses ${…} where it is not replaced: a text that looks replaced
// and is not would be a surprise.
func (c *cursor) noVariable(p place) bool {
	if p.node.Kind == yaml.ScalarNode && strings.Contains(p.node.Value, "${") {
		c.wrong(p, "variables are replaced only in "+strings.Join(substituted, ", "), "must not hold ${…}")
		return false
	}
	return true
}

// substituted are the keys in which ${NAME} is replaced.
var substituted = []string{"dataset.source.path", "dataset.frame.path", "plugins.*.path", "output.dir", "budget.ledger"}

// expand replaces every ${NAME} by the environment variable. Its problems name
// the variable and never its value.
func (c *cursor) expand(p place) (string, bool) {
	text := p.node.Value
	ok := true
	out := variable.ReplaceAllStringFunc(text, func(ref string) string {
		name := ref[2 : len(ref)-1]
		v, set := c.getenv(name)
		switch {
		case !set:
			c.wrong(p, "set it before the run", "the environment variable %s is not set", name)
		case v == "":
			c.wrong(p, "set it before the run", "the environment variable %s is empty", name)
		case strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f }):
			c.wrong(p, "", "the environment variable %s holds a control character", name)
		default:
			return v
		}
		ok = false
		return ""
	})
	if strings.Contains(variable.ReplaceAllString(text, ""), "${") {
		c.wrong(p, "write ${NAME}", "has a ${ that is not a variable")
		ok = false
	}
	return out, ok
}

// located is a path in two forms: joined to the job's folder, and as the digest
// sees it, which must not depend on where that folder is.
type located struct{ joined, named string }

// filePath is a path, with variables replaced, relative to the job file.
func filePath() kind[located] {
	return kind[located]{label: "path", schema: schema{"type": "string", "minLength": 1, "maxLength": maxText},
		read: func(c *cursor, p place) (located, bool) {
			if p.node.Kind != yaml.ScalarNode {
				c.wrong(p, "", "must be a path, not %s", shape(p.node))
				return located{}, false
			}
			if _, err := checkText(p.node.Value); err != nil {
				c.wrong(p, "", "%s", err)
				return located{}, false
			}
			text, ok := c.expand(p)
			if !ok {
				return located{}, false
			}
			return located{c.join(text), filepath.ToSlash(text)}, true
		}}
}

// fileKey declares a key that names a file: joined to the folder of the job in
// one field, and, where the digest depends on it, as it was named in another.
func fileKey[T any](name string, joined, named func(*T) *string, doc string, opts ...option) field[T] {
	k := filePath()
	f := key(name, k, func(*T) *located { return new(located) }, doc, opts...)
	f.read = func(c *cursor, p place, into *T) {
		l, ok := k.read(c, p)
		if !ok {
			return
		}
		*joined(into) = l.joined
		if named != nil {
			*named(into) = l.named
		}
	}
	return f
}

func (c *cursor) join(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(c.dir, path)
}

// ledgerSchemes are how a ledger's address begins.
var ledgerSchemes = []string{"sqlite:", "postgres://", "postgresql://"}

// ledgerAddress is the address of a ledger, as it is written. A relative path is
// not joined to the job's folder here: ledger.ParseAddress does that, and does it
// once. The address may hold a password, so no problem repeats it.
func ledgerAddress() kind[Secret] {
	return kind[Secret]{label: "address of a ledger", schema: schema{"type": "string", "minLength": 1, "maxLength": maxText},
		read: func(c *cursor, p place) (Secret, bool) {
			if p.node.Kind != yaml.ScalarNode {
				c.wrong(p, "", "must be an address such as sqlite:ledger.db")
				return Secret{}, false
			}
			if _, err := checkText(p.node.Value); err != nil {
				c.wrong(p, "", "%s", err)
				return Secret{}, false
			}
			text, ok := c.expand(p)
			if !ok {
				return Secret{}, false
			}
			for _, scheme := range ledgerSchemes {
				rest, ok := strings.CutPrefix(text, scheme)
				switch {
				case !ok:
				case rest == "":
					c.wrong(p, "", "names no ledger after %s", scheme)
					return Secret{}, false
				default:
					return NewSecret(text), true
				}
			}
			c.wrong(p, fmt.Sprintf("for example sqlite:ledger.db or %s…", ledgerSchemes[1]), "must begin with %s", strings.Join(ledgerSchemes, " or "))
			return Secret{}, false
		}}
}
