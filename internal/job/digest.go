package job

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/big"
)

// Digest is the SHA-256, in hex, of what the job means: two files have the same
// digest when they ask for the same releases of the same table.
//
// The order of keys, comments, white space, aliases and the spelling of numbers
// (0.5, "0.50", 5e-1) make no difference; neither do defaults that are written
// out. Also outside are the keys that change what happens to the releases but
// not the releases: the whole of output and budget, a plugin's path and timeout;
// and what only changes words and forecasts: what people call a unit, and what a
// column is assumed to hold.
// Paths enter as they are written, with variables replaced and not joined to the
// job's folder, so that a job may be moved together with its data.
//
// The order of the releases and of a domain does count: it is the order of the
// output. So does the job's name: it is how to ask for a second, independent
// release.
func (j *Job) Digest() string {
	b, err := json.Marshal(j.canonical())
	if err != nil {
		return "" // plain values always marshal
	}
	sum := sha256.Sum256(append([]byte("dprelease job 1\n"), b...))
	return hex.EncodeToString(sum[:])
}

type canon = map[string]any

// canonical is the meaning of the job as plain values; encoding/json sorts the
// keys of a map.
func (j *Job) canonical() canon {
	samples, plugins := canon{}, canon{}
	for _, s := range j.Samples {
		samples[s.Name] = s.canonical()
	}
	for _, p := range j.Plugins {
		plugins[p.Name] = canon{"sha256": p.SHA256, "allow_self_noising": p.AllowSelfNoising}
	}
	releases := make([]any, len(j.Releases))
	for i, r := range j.Releases {
		releases[i] = canon{
			"name": r.Name, "from": r.From, "mechanism": r.Mechanism, "params": canonicalParams(r.Params),
			"guarantee": canon{"epsilon": exact(r.Guarantee.Epsilon), "delta": exact(r.Guarantee.Delta)},
		}
	}
	return canon{
		"version": j.Version, "job": j.Name, "dataset": j.Dataset.canonical(),
		"samples": samples, "plugins": plugins, "releases": releases,
	}
}

func (d *Dataset) canonical() canon {
	columns := canon{}
	for _, c := range d.Columns {
		columns[c.Name] = canon{
			"lower": exact(c.Lower), "upper": exact(c.Upper), "domain": c.Domain, "immutable": c.Immutable,
			"missing": c.Missing.canonical(), "outside": c.Outside.canonical(),
		}
	}
	out := canon{
		"id": d.ID, "relation": d.Relation.String(), "size": d.Size, "at_least": d.AtLeast, "unit": d.Unit,
		"source": canon{"path": d.Source.named, "format": d.Source.Format}, "columns": columns,
	}
	if d.Key.Column != "" { // what the report promises depends on it; what people call it is words
		out["unit_column"] = d.Key.Column
	}
	if d.Frame != nil {
		out["frame"] = canon{"path": d.Frame.named, "records": d.Frame.Records}
	}
	if d.Collected != nil {
		out["collected"] = canon{"method": d.Collected.Method, "population": d.Collected.Population}
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
		rates[r.Stratum] = exact(r.Rate)
	}
	for _, t := range s.Takes {
		takes[t.Stratum] = t.Take.canonical()
	}
	if s.Method == Kept {
		return canon{"method": s.Method, "id": s.ID}
	}
	return canon{
		"method": s.Method, "rate": exact(s.Rate), "size": s.Size, "stages": stages,
		"strata": s.Strata, "rates": rates, "take": takes, "keep": s.Keep,
	}
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
