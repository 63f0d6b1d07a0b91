package job

// Engine says what carries the scans of a job out. The zero value is this machine. It is no part of the digest: the
// same releases on another engine are the same releases.
type Engine struct {
	Kind    string // "" or EngineBeam
	Runner  string // of Beam: prism, flink, dataflow, spark, …
	Options []Named[string]
}

// EngineBeam is an Apache Beam pipeline, which the program dprelease-beam makes.
const EngineBeam = "beam"

// Option is the value of an option, "" where the job does not say.
func (e *Engine) Option(name string) string {
	o, _ := first(e.Options, func(o Named[string]) bool { return o.Name == name })
	return o.Value
}

func engine() kind[Engine] {
	return object(
		key("kind", choice(EngineBeam), func(e *Engine) *string { return &e.Kind },
			"What carries the scans out. beam is an Apache Beam pipeline; it needs the program dprelease-beam", required()),
		key("runner", pattern("1 to 40 lower-case letters", `^[a-z]{1,40}$`), func(e *Engine) *string { return &e.Runner },
			"The runner of Beam: prism (this machine), flink, spark, dataflow or universal", otherwise("prism"), example("flink")),
		key("options", byName(value(), "NAME", checkVariableName), func(e *Engine) *[]Named[string] { return &e.Options },
			"splits, shards, workers, exchange and secret_file are for dprelease-beam; any other is a flag of the runner, as in its own documentation. docs/how-to/beam.md explains them",
			example("{endpoint: \"localhost:8099\", exchange: /mnt/shared/exchange, secret_file: /run/secrets/dprelease}")),
	)
}
