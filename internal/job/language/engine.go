package language

import (
	"github.com/dprelease/dprelease/internal/job"
)

func engine() kind[job.Engine] {
	return object(
		key("runner", pattern("1 to 40 lower-case letters", `^[a-z]{1,40}$`), func(e *job.Engine) *string { return &e.Runner },
			"The runner of Beam: prism (this machine), flink, spark, dataflow or universal", required(), example("prism")),
		key("options", byName(value(), "NAME", checkVariableName), func(e *job.Engine) *[]job.Named[string] { return &e.Options },
			"Options of dprelease-beam (docs/how-to/beam.md), or flags of the runner",
			example("{endpoint: \"localhost:8099\", exchange: /mnt/shared/exchange, secret_file: /run/secrets/dprelease}")),
	)
}
