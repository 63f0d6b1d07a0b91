package prose

import "testing"

func TestFill(t *testing.T) {
	for _, c := range []struct {
		name    string
		columns int
		in, out string
	}{
		{"nothing", 40, "", ""},
		{"a paragraph", 40, "a ledger that was cut off, edited, rolled back to an old\ncopy, or copied\n", "a ledger that was cut off, edited,\nrolled back to an old copy, or copied\n"},
		{"wider than it was", 80, "a ledger that was cut off,\nedited, rolled back to an old copy\n\nsecond\none", "a ledger that was cut off, edited, rolled back to an old copy\n\nsecond one"},
		{"what is indented", 40, "run it:\n  dprelease ledger verify job.yaml --releases /srv/releases\n\nthen\nread\n", "run it:\n  dprelease ledger verify job.yaml --releases /srv/releases\n\nthen read\n"},
		{"what has tabs", 40, "\tsource <(dprelease completion bash)\n", "\tsource <(dprelease completion bash)\n"},
		{"empty lines stay", 40, "a\n\n\n\nb\n", "a\n\n\n\nb\n"},
	} {
		if got := Fill(c.in, c.columns); got != c.out {
			t.Errorf("%s:\n%q, want\n%q", c.name, got, c.out)
		}
	}
}
