package language

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

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

// expanded is a text in which variables are replaced; like describes it. take makes a value of it, or says what is wrong with it:
// no problem quotes the text, which may hold a password.
func expanded[V any](label, like string, take func(c *cursor, text string) (v V, hint, wrong string)) kind[V] {
	return kind[V]{label: label, schema: anyText, read: func(c *cursor, p lang.Place, into *V) bool {
		if !c.isScalar(p, like) {
			return false
		}
		if _, err := checkText(p.Node.Value); err != nil {
			return c.Wrong(p, "", "%s", err)
		}
		text, ok := c.expand(p)
		if !ok {
			return false
		}
		v, hint, wrong := take(c, text)
		if wrong != "" {
			return c.Wrong(p, hint, "%s", wrong)
		}
		*into = v
		return true
	}}
}

// filePath is a path or an address, joined to the folder of the job. One with a credential is
// refused here, so that no plan, report or record of a ledger ever holds it.
func filePath() kind[string] {
	return expanded("path", "a path", func(c *cursor, text string) (path, hint, wrong string) {
		switch {
		case address.Credential(text):
			return "", "say it where the SDK of the store looks for it, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or in PGPASSWORD",
				"must not hold a credential"
		case address.Foreign(text):
			return "", "download the file first, and say its path", "must be a path, or an address that begins with " +
				strings.Join(address.Known, "://, ") + "://: no other store is read"
		}
		return c.join(text), "", ""
	})
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
	const like = "an address such as sqlite:ledger.db"
	return expanded("address of a ledger", like, func(_ *cursor, text string) (a job.Secret, hint, wrong string) {
		i := slices.IndexFunc(ledgerSchemes, func(s string) bool { return strings.HasPrefix(text, s) })
		switch {
		case i < 0:
			return a, "for example sqlite:ledger.db or " + ledgerSchemes[1] + "…", "must begin with " + strings.Join(ledgerSchemes, " or ")
		case text == ledgerSchemes[i]:
			return a, "", "names no ledger after " + text
		case i == 0 && address.Credential(text):
			return a, "name a file of this machine", "must not hold the address of a store, nor a credential"
		}
		return job.NewSecret(text), "", ""
	})
}
