package problem

import "testing"

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "abc", 3}, {"size", "size", 0}, {"szie", "size", 1}, {"sise", "size", 1}, {"sie", "size", 1}, {"sizes", "size", 1}, {"kitten", "sitting", 3}} {
		if got := editDistance(c.a, c.b); got != c.want {
			t.Errorf("%s and %s are %d apart, want %d", c.a, c.b, got, c.want)
		}
	}
	for word, want := range map[string]string{"add_remove": "add-remove", "Size": "size", "rtae": "rate", "q": ""} {
		if got := NearestWord(word, []string{"size", "rate", "add-remove"}); got != want {
			t.Errorf("%s is near %q, want %q", word, got, want)
		}
	}
	if got := DidYouMean("zzz", []string{"size", "rate"}); got != "" {
		t.Errorf("a word that is near nothing gets %q", got)
	}
}
