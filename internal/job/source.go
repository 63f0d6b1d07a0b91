package job

import "slices"

// MissingTexts lists the texts that stand for a missing value, in order; nil where that is
// the empty one, as without the key.
func (s *Source) MissingTexts() []string {
	if s.Missing == nil || slices.Equal(s.Missing, []string{""}) {
		return nil
	}
	return slices.Sorted(slices.Values(s.Missing))
}
