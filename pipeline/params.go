package pipeline

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/params"
)

// paramError is a parameter that the schema of its mechanism refuses.
type paramError struct{ path, message, hint string }

func (e paramError) Error() string { return e.message }

// validateParams returns a paramError for the first parameter that is wrong.
func validateParams(schema *params.Schema, raw json.RawMessage) error {
	err := schema.Validate(raw)
	var p *params.Problem
	if !errors.As(err, &p) {
		return err
	}
	e := paramError{path: paramPath(p.Path), message: p.Message}
	if p.Unknown && len(p.Path) == 1 {
		if near := job.Nearest(p.Path[0], schema.Names()); near != "" {
			e.hint = "did you mean " + near + "?"
		}
	}
	return e
}

// paramPath writes a path as it follows "params".
func paramPath(keys []string) string {
	path := ""
	for _, key := range keys {
		if isIndex(key) {
			path += "[" + key + "]"
		} else {
			path = job.Key(path, key)
		}
	}
	if path != "" && !strings.HasPrefix(path, "[") {
		path = "." + path
	}
	return path
}

func isIndex(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
