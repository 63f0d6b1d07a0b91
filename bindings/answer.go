package bindings

import (
	"strings"

	"github.com/dprelease/dprelease/internal/plan/account"
)

// Answer answers a question as JSON; one without an answer is {"error": "…"}.
func Answer(question string) string {
	var out, problems strings.Builder
	// As a file, so that no question is taken for the name of one.
	account.Run(strings.NewReader(question), &out, &problems, account.Options{File: "-", JSON: true})
	return strings.TrimSuffix(out.String(), "\n")
}
