package report_test

import (
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/german"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// Everything on a German page is German, what mechanisms, designs and methods say too; the English page shows that the check can fail.
func TestGermanPages(t *testing.T) {
	for _, name := range tier.Some(fixtures, 3) {
		r, values := load(t, name)
		if english := german.English(html(t, pageOf(t, name, r), r, values, false)); len(english) < 20 {
			t.Errorf("%s: only %d texts of the English page are English", name, len(english))
		}
		german.Check(t, r, values)
	}
}
