package job

import "github.com/dprelease/dprelease/internal/job/lang"

// Engine names the runner of a job's scans. The zero value is this machine. It is no part of the digest: the
// same releases on another engine are the same releases.
type Engine struct {
	Runner  string // of Beam: prism, flink, dataflow, spark, …; "" for this machine alone
	Options []Named[string]
}

// Elsewhere reports whether a pipeline of Apache Beam carries the scans out.
func (e *Engine) Elsewhere() bool { return e.Runner != "" }

// Option is the value of an option, "" where the job does not say.
func (e *Engine) Option(name string) string {
	o, _ := first(e.Options, func(o Named[string]) bool { return o.Name == name })
	return o.Value
}

func engine() kind[Engine] {
	return object(
		key("runner", pattern("1 to 40 lower-case letters", `^[a-z]{1,40}$`), func(e *Engine) *string { return &e.Runner },
			"The runner of Beam: prism (this machine), flink, spark, dataflow or universal", required(), example("prism")),
		key("options", byName(value(), "NAME", checkVariableName), func(e *Engine) *[]Named[string] { return &e.Options },
			"Options of dprelease-beam (docs/how-to/beam.md), or flags of the runner",
			example("{endpoint: \"localhost:8099\", exchange: /mnt/shared/exchange, secret_file: /run/secrets/dprelease}")),
	)
}

// engine checks what no part of a table can tell.
func (k *checker) engine() {
	d := &k.j.Dataset
	panel, rotates := k.j.Rotates()
	for _, no := range []struct {
		is              bool
		path, hint, why string
	}{
		{len(d.Tables) > 0, "engine", "leave it out: the tables are read on this machine", "does not go with several tables: a part of one would need the rows of its units in all others"},
		{len(k.j.Series) > 0, "engine", "leave it out", "does not go with a series, which is read on one machine"},
		{d.Cap != nil && d.Cap.Measure != nil, capMeasure, "leave it out", "is made on one machine"},
		{rotates && panel.Drawn, lang.Key("samples", panel.Name), "leave engine out", "cannot be drawn on an engine's machines, which are not told who is in which wave"},
	} {
		if no.is && k.j.Engine.Elsewhere() {
			k.wrong(no.path, no.hint, "%s", no.why)
		}
	}
}
