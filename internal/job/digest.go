package job

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/big"
	"path/filepath"
	"slices"
)

// Digest returns the SHA-256, in hex, of the question that the job asks. The digest and the
// content of the columns that the job reads name a release: for the same name the ledger
// returns the stored bytes, and spends nothing.
//
// Two jobs have the same digest when they ask for the same releases. The order of
// keys, comments, white space, aliases, the spelling of numbers (0.5, "0.50", 5e-1)
// and defaults that are written out make no difference. These keys are no part of it:
//   - output, everything of budget except spend, and the path and timeout of a plugin: they change
//     what happens to the releases, not the releases;
//   - engine: where the rows are added up changes nothing that is released;
//   - unit_name, unit_plural, publication, lineage, assume and collected.allocation: they change words and forecasts;
//   - the path, format and delimiter of the table, its database and query: the content says what was read;
//   - the whole frame: one that differs from the table is refused. Only the sizes of rates_by_size are not compared
//     with the table, so a job with other sizes asks for the same releases. The frame of a population from which the
//     table was collected is part of the digest, by its content: it makes the weights.
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
func (j *Job) Digest() string { return digestOf("dprelease job 2\n", j.canonical()) }

// FormerDigests returns the digests that earlier versions may have given this job.
// They included the path of the table and the frame as written, so there is one
// digest for each spelling that an earlier version is likely to have seen.
func (j *Job) FormerDigests() []string {
	if !j.Dataset.Source.Postgres.Empty() || j.Dataset.Source.Snapshot != 0 {
		return nil // they read no database and no Iceberg table
	}
	var out []string
	for _, path := range spellings(j.Dataset.Source.named, j.Dataset.Source.Path, j.Dir) {
		c := j.canonical()
		data := c["dataset"].(canon)
		data["source"] = canon{"path": path, "format": j.Dataset.Source.Format}
		if f := j.Dataset.Frame; f != nil {
			data["frame"] = canon{"path": f.named, "records": f.Records}
		}
		out = append(out, digestOf("dprelease job 1\n", c))
	}
	return out
}

// spellings returns the ways in which a job may name a file, the one it uses first.
func spellings(named, joined, dir string) []string {
	all := []string{named}
	add := func(s string) {
		if s = filepath.ToSlash(s); !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	if path, err := filepath.Abs(joined); err == nil {
		add(path)
		if dir, err = filepath.Abs(dir); err == nil {
			if path, err = filepath.Rel(dir, path); err == nil {
				add(path)
				add("./" + path)
			}
		}
	}
	return all
}

func digestOf(version string, c canon) string {
	b, err := json.Marshal(c)
	if err != nil {
		return "" // plain values always marshal
	}
	sum := sha256.Sum256(append([]byte(version), b...))
	return hex.EncodeToString(sum[:])
}

type canon map[string]any

// set adds a key that an older language does not have, where a job uses it.
func (c canon) set(key string, value any, used bool) {
	if used {
		c[key] = value
	}
}

// canonical is the meaning of the job as plain values; encoding/json sorts the
// keys of a map. A key that the language gets later is only set where a job uses it:
// the digests of all other jobs stay as they are.
func (j *Job) canonical() canon {
	samples, plugins := canon{}, canon{}
	for _, s := range j.Samples {
		samples[s.Name] = s.canonical()
	}
	for _, p := range j.Plugins {
		plugins[p.Name] = canon{"sha256": p.SHA256, "allow_self_noising": p.AllowSelfNoising}
	}
	releases := []any{}
	for _, r := range j.Releases {
		if r.Bounds != "" {
			continue // its column says what it is
		}
		c := canon{
			"name": r.Name, "from": r.From, "mechanism": r.Mechanism, "params": canonicalParams(r.Params),
		}
		c.set("guarantee", r.Guarantee.canonical(), !r.Shares)
		c.set("weight", exact(r.Weight), r.Shares)
		c.set("where", r.Where.canonical(), r.Where.Said())
		c.set("having", r.Having.canonical(), r.Having.Said())
		c.set("by", r.By, len(r.By) > 0)
		c.set("other", r.Other, r.Other != "")
		if k := r.Keys; k != nil {
			c["keys"] = canon{"epsilon": exact(k.Guarantee.Epsilon), "delta": exact(k.Guarantee.Delta), "at_most": k.AtMost, "from": k.From}
		}
		c.set("interval", exact(r.Interval), r.Interval != nil)
		if w := j.Dataset.WeightsOf(&r); w != nil { // where the job says them makes no difference
			c["weights"] = w.canonical()
		}
		if s := r.Suppress; s != nil {
			c["suppress"] = canon{"below": exact(s.Below), "column": s.Column}
		}
		releases = append(releases, c)
	}
	out := canon{
		"version": j.Version, "job": j.Name, "dataset": j.Dataset.canonical(),
		"samples": samples, "plugins": plugins, "releases": releases,
	}
	if s := j.Budget.Spend; s != nil {
		out["spend"] = s.canonical()
	}
	return out
}

func (d *Dataset) canonical() canon {
	columns := canon{}
	for _, c := range d.Columns {
		columns[c.Name] = c.canonical()
	}
	out := canon{
		"id": d.ID, "relation": d.Relation.String(), "size": d.Size, "at_least": d.AtLeast, "unit": d.Unit,
		"columns": columns,
	}
	if d.Key.Column != "" { // what the report promises depends on it; what people call it is words
		out["unit_column"] = d.Key.Column
	}
	out.set("unit_missing", d.Key.Missing, d.Key.Column != "" && d.Key.Rows == 0)
	if d.Folds() {
		fold := canon{}
		for _, f := range d.Fold {
			fold[f.Name] = f.Value
		}
		out["fold"] = fold
	}
	if d.Cap != nil {
		out["cap"] = canon{"groups": d.Cap.Groups, "rows": d.Cap.Rows}
	}
	if d.Slice != nil {
		out["slice"] = canon{"column": d.Slice.Column, "is": d.Slice.Is}
	}
	// Another snapshot is another question, also where it holds the same rows: whether a release is drawn anew does not say
	// whether the data changed.
	out.set("snapshot", d.Source.Snapshot, d.Source.Snapshot != 0)
	if texts := d.Source.missingTexts(); texts != nil { // the content does not tell how a text is taken
		out["missing_texts"] = texts
	}
	if d.Collected != nil {
		out["collected"] = d.Collected.canonical()
	}
	return out
}

func (c *Column) canonical() canon {
	out := canon{
		"lower": exact(c.Lower), "upper": exact(c.Upper), "domain": c.Domain, "immutable": c.Immutable,
		"missing": c.Missing.canonical(), "outside": c.Outside.canonical(),
	}
	out.set("type", c.Holds, c.Holds != "")
	out.set("bounds", c.Bounds.canonical(), c.Bounds != nil)
	if l := c.Lookup; l != nil {
		from := canon{"sha256": l.SHA256, "key": l.Key, "on": l.On()}
		from.set("heading", c.Heading, c.Heading != "")
		out["lookup"] = from
	}
	if d := c.Derived; d != nil {
		out["derived"] = canon{"as": d.As.canonical(), "bins": d.Bins, "after": d.After}
	}
	return out
}

func (h Handling) canonical() canon {
	return canon{"rule": h.Rule, "number": exact(h.Number), "text": h.Text}
}

func (s *Sample) canonical() canon {
	stages := make([]any, len(s.Stages))
	for i, st := range s.Stages {
		stages[i] = canon{"unit": st.Unit, "take": st.Take.canonical(), "short": st.Short}
	}
	rates, takes := canon{}, canon{}
	for _, r := range s.Rates {
		rates[r.Name] = exact(r.Value)
	}
	for _, t := range s.Takes {
		takes[t.Name] = t.Value.canonical()
	}
	if s.Method == Kept {
		return canon{"method": s.Method, "id": s.ID}
	}
	out := canon{
		"method": s.Method, "rate": exact(s.Rate), "size": s.Size, "stages": stages,
		"strata": s.Strata, "rates": rates, "take": takes, "keep": s.Keep,
	}
	if b := s.BySize; b != nil {
		out["rates_by_size"] = canon{"expected": exact(b.Expected), "most": exact(b.Most)}
	}
	return out
}

func (c *Collected) canonical() canon {
	out := canon{"method": c.Method, "population": c.Population}
	out.set("each_slice", true, c.EachSlice)
	if c.Method != SRSWOR {
		out["drawn"] = c.Sample.canonical()
	}
	sizes := canon{}
	for _, s := range c.Sizes {
		sizes[s.Name] = s.Value
	}
	out.set("populations", sizes, len(sizes) > 0)
	out.set("frame", c.FrameSHA256, c.FrameSHA256 != "")
	return out
}

func (t Take) canonical() any {
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
