package language

import (
	"github.com/dprelease/dprelease/internal/job"
)

// binds declares the key of a limit that says what it is to the values.
func binds[T any](at func(*T) *job.Binds, what string) field[T] {
	return key("binds", choice(job.BindsNever, job.BindsDefinition), at,
		"never promises that "+what+" leaves nothing out; definition says that it is part of what is published (docs/limits.md)",
		example("definition"))
}

// bindsBounds is binds for the bounds of a column.
func bindsBounds() field[job.Column] {
	return key("binds", choice(job.BindsNever, job.BindsUpper, job.BindsDefinition), func(c *job.Column) *job.Binds { return &c.Binds },
		"never promises that no value lies beyond the bounds, upper that none lies below lower; definition makes them part of what is "+
			"published (docs/limits.md)", example("upper"))
}
