package job

// Named is a value that the job gives under a name: the rate of a stratum, an option of an engine.
type Named[V any] struct {
	Name  string
	Value V
}
