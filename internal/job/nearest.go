package job

import "strings"

// Nearest returns the known word that is nearest to a word with a slip, or ""
// where none is near: at most one edit for each three characters. Of words that
// are equally near it is the first in the alphabet.
func Nearest(word string, known []string) string {
	best, distance := "", len(word)
	for _, k := range known {
		d := editDistance(strings.ToLower(word), strings.ToLower(k))
		if d < distance || d == distance && k < best {
			best, distance = k, d
		}
	}
	if distance > (max(len(word), len(best))+2)/3 {
		return ""
	}
	return best
}

// didYouMean is a hint with the nearest known word, or "".
func didYouMean(word string, known []string) string {
	if best := Nearest(word, known); best != "" {
		return meanHint(best)
	}
	return ""
}

func meanHint(word string) string { return "did you mean " + word + "?" }

// editDistance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b.
func editDistance(a, b string) int {
	if len(a) > maxShown || len(b) > maxShown {
		return max(len(a), len(b))
	}
	before, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, prev, row = prev, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
