package job

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
