package specs

import "embed"

// FS holds every specification, schema and vector, by its path below specs/.
//
//go:embed *.md *.json plugin vectors
var FS embed.FS
