package job

import "testing"

func TestMeantMechanism(t *testing.T) {
	known := []string{"count", "distinct", "histogram", "mean", "proportion", "sd", "sum", "total-of-mine"}
	for word, want := range map[string]string{
		"total": "sum", "Average": "mean", "avg": "mean", "share": "proportion", "percentage": "proportion", "stddev": "sd", "std": "sd",
		"hist": "histogram", "COUNT-DISTINCT": "distinct", "standard deviation": "sd", "meen": "mean", "total-of-mne": "total-of-mine",
	} {
		if got := meantMechanism(word, known); got != "did you mean "+want+"?" {
			t.Errorf("%s: %q, want %s", word, got, want)
		}
	}
	if got := meantMechanism("var", known); got != "" {
		t.Errorf("a mechanism that there is not is proposed: %q", got)
	}
	seen := map[string]string{}
	for name, words := range synonyms {
		for _, w := range words {
			if other, twice := seen[w]; twice || synonyms[w] != nil {
				t.Errorf("%s is a synonym of %s and of %s", w, name, other)
			}
			seen[w] = name
		}
	}
}
