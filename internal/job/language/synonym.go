package language

import (
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/say/problem"
)

// meantMechanism is the hint for a word that is no mechanism: the known one that has it among its
// other words, or the nearest name.
func meantMechanism(word string, known []string, other map[string][]string) string {
	plain := strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(word))
	for _, name := range known {
		if slices.Contains(other[name], plain) {
			return "did you mean " + name + "?"
		}
	}
	return problem.DidYouMean(word, known)
}
