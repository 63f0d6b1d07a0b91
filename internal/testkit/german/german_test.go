package german_test

import (
	"slices"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/german"
)

func TestEnglish(t *testing.T) {
	page := `<style>p { of the }</style><p>Die Zahlen</p><p>The figures</p><p>whole table</p><code>where a and b</code><p class="digest">half of it</p>` +
		`<p lang="en">the title of a paper</p><p>aus tables-of-persons</p><td>the value</td><p>Schools of California</p>`
	if got := german.English(page, "Schools of California"); !slices.Equal(got, []string{"The figures", "whole table", "the value"}) && !slices.Equal(got, []string{"the value"}) {
		t.Error(got)
	}
	if got := german.English(page); len(got) < 2 {
		t.Error(got)
	}
	if got := german.English("<p>ε 1.9 and more</p><p>%!s(MISSING)</p>"); len(got) != 2 {
		t.Error(got)
	}
}
