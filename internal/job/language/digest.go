package language

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/big"

	"github.com/dprelease/dprelease/internal/job"
)

// spoken is the language of a job that was read.
type spoken struct{}

// Digest returns the SHA-256, in hex, of the question that the job asks. The digest and the
// content of the columns that the job reads name a release: for the same name the ledger
// returns the stored bytes, and spends nothing.
//
// It comes from the declaration of the language: every key is part of it, unless its declaration
// says out and why (facts.go). Two jobs have the same digest when they ask for the same releases.
// The order of keys, comments, white space, aliases, the spelling of numbers (0.5, "0.50", 5e-1)
// and defaults that are written out make no difference. A file counts by its content, not by its
// path; of the sizes of rates_by_size nothing counts, so a job with other sizes asks for the same
// releases. A query counts: whether another query has the same rows is a question about the data
// (P33).
//
// The order of the releases and of a domain counts: it is the order of the output.
// The job's name counts: a new name asks for a second, independent release.
//
// Nothing that an upgrade of this program improves is part of the digest: not the
// planned events, not the shares of budget.spend (only spend itself and the weights
// are), not the size of the noise, not the version or the program of a
// built-in mechanism, not the text that describes a column of the output. So an upgrade
// never spends again (P21). The stored bytes stay right after every upgrade: they were
// drawn once, and the guarantee under which they were drawn was debited. Other bytes for
// the same question would cost a second debit, and two answers tell more than one. To get
// the smaller noise of a later version, give the job another name.
func (spoken) Digest(j *job.Job) string {
	return digestOf(language(), j)
}

// digestOf is the digest of a job by a declaration of the language.
func digestOf(k kind[job.Job], j *job.Job) string {
	is := canon{"job": k.fact(j)}
	// Where the job says the weights of a release makes no difference.
	weighted := canon{}
	declared := weights()
	for i := range j.Releases {
		if w := j.Dataset.WeightsOf(&j.Releases[i]); w != nil {
			weighted[j.Releases[i].Name] = declared.fact(w)
		}
	}
	is["weights"] = weighted
	if c := j.Dataset.Collected; c != nil {
		is["frame"] = c.FrameSHA256
	}
	b, err := json.Marshal(is)
	if err != nil {
		return "" // plain values always marshal
	}
	sum := sha256.Sum256(append([]byte("dprelease job 1\n"), b...))
	return hex.EncodeToString(sum[:])
}

// inFile are the columns that stand in the files of the table.
func inFile(d *job.Dataset) []job.Column {
	return columnsIn(d, func(c *job.Column) bool { return c.Lookup == nil && c.Derived == nil && c.Joined == nil })
}

// columnsOf lists some columns in the order of the job.
func columnsIn(d *job.Dataset, some func(*job.Column) bool) (is []job.Column) {
	for i := range d.Columns {
		if some(&d.Columns[i]) {
			is = append(is, d.Columns[i])
		}
	}
	return is
}

// lookupFacts are the public tables, each with the columns that it adds. Its content counts, and
// not its name.
func lookupFacts(d *job.Dataset) any {
	is := canon{}
	for _, c := range columnsIn(d, func(c *job.Column) bool { return c.Lookup != nil }) {
		from, declared := *c.Lookup, lookup()
		from.Columns = []job.Column{c}
		fact, _ := declared.fact(&from).(canon)
		fact["sha256"], fact["match"] = from.SHA256, from.On()
		is[c.Name] = fact
	}
	if len(is) == 0 {
		return nil
	}
	return is
}

// releaseFacts are the releases in the order of the job. A search for bounds is left out, and
// what a measure pays for: its column, or the cap, says what it is.
func releaseFacts(j *job.Job) []any {
	is := []any{}
	declared := release()
	for i := range j.Releases {
		if r := &j.Releases[i]; r.Bounds == "" && r.Measures == "" {
			is = append(is, declared.fact(r))
		}
	}
	return is
}

// canonicalHandling is the rule, with the value that it imputes.
func canonicalHandling(h job.Handling) any {
	if h.Rule == "" {
		return nil
	}
	if h.Number != nil { // however it is spelled
		return canon{"rule": h.Rule, "number": exact(h.Number)}
	}
	return canon{"rule": h.Rule, "text": h.Text}
}

func canonicalTake(t job.Take) any {
	if t.All {
		return "all"
	}
	return t.Count
}

// exact is a number as a fraction in lowest terms, nil where there is none.
func exact(r *big.Rat) any {
	if r == nil {
		return nil
	}
	return r.RatString()
}

// canonicalParams gives every spelling of a number the same form.
func canonicalParams(raw json.RawMessage) any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil
	}
	return sameNumbers(v)
}

func sameNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = sameNumbers(e)
		}
	case []any:
		for i, e := range v {
			v[i] = sameNumbers(e)
		}
	case json.Number:
		if r, ok := new(big.Rat).SetString(v.String()); ok {
			return canon{"number": r.RatString()}
		}
	}
	return v
}
