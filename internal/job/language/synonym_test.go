package language

import "testing"

func TestMeantMechanism(t *testing.T) {
	known := []string{"count", "mean", "sd", "sum", "total-of-mine"}
	other := map[string][]string{"sum": {"total"}, "mean": {"average", "avg"}, "sd": {"standard_deviation"}, "variance": {"var"}}
	for word, want := range map[string]string{
		"total": "sum", "Average": "mean", "avg": "mean", "STANDARD-DEVIATION": "sd", "standard deviation": "sd", "meen": "mean", "total-of-mne": "total-of-mine",
	} {
		if got := meantMechanism(word, known, other); got != "did you mean "+want+"?" {
			t.Errorf("%s: %q, want %s", word, got, want)
		}
	}
	if got := meantMechanism("var", known, other); got != "" {
		t.Errorf("a mechanism that there is not is proposed: %q", got)
	}
}
