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
	o, _ := First(e.Options, func(o Named[string]) bool { return o.Name == name })
	return o.Value
}
