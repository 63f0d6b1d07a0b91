package samplers

import (
	"testing"

	"github.com/dprelease/dprelease/privacy"
)

func TestFullAndCollected(t *testing.T) {
	src := newSource(t)
	inner := privacy.Pure{Eps: 1}
	full := must[*Full](t)(NewFull(0))
	if got := draw(t, full, src, 10, 3); len(got) != 10 {
		t.Errorf("%d rows drawn", len(got))
	}
	if full.Event(inner) != inner || full.Supports(privacy.AddRemove) != nil || full.Supports(privacy.ReplaceOne) != nil || full.Supports(0) == nil {
		t.Error("the full design is not its inner event under both relations")
	}
	survey := must[*Collected](t)(NewCollected(10, 40))
	if got := draw(t, survey, src, 10, 3); len(got) != 10 {
		t.Errorf("%d rows drawn", len(got))
	}
	if e := survey.Event(inner); e != (privacy.WithoutReplacement{Take: 10, Of: 40, Event: inner}) {
		t.Errorf("event %v", e)
	}
	if f := survey.Facts(); f.Rate != 0.25 || f.MaxWeight != 4 || f.Population != 40 || f.SampleSize != 10 {
		t.Errorf("facts %+v", f)
	}
	if survey.Supports(privacy.AddRemove) == nil || survey.Supports(privacy.ReplaceOne) != nil {
		t.Error("a survey of public size holds under replace-one only")
	}
	if _, err := NewCollected(41, 40); err == nil {
		t.Error("a sample larger than its population is accepted")
	}
	if _, err := NewCollected(0, 40); err == nil {
		t.Error("an empty survey is accepted")
	}
	if _, err := NewFull(-1); err == nil {
		t.Error("a negative size is accepted")
	}
}

func TestRates(t *testing.T) {
	for text, want := range map[string]Rate{
		"0.2": {1, 5}, "1": {1, 1}, "1/3": {1, 3}, "1e-3": {1, 1000}, "2/6": {1, 3}, ".5": {1, 2}, "1.": {1, 1},
		"0.12345678901234567": {12345678901234567, 100000000000000000}, "1e-19": {1, 10000000000000000000},
	} {
		got, err := ParseRate(text)
		if err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "0.0", "-1", "1.1", "2", "1/0", "0/1", "3/2", "1e-99", "1e-999999999", "NaN", "inf", "0x1p-3", " 0.1", "1_0", "1/3e5", "1e20", "0.00000000000000000001234567"} {
		if r, err := ParseRate(text); err == nil {
			t.Errorf("%q is accepted as %v", text, r)
		}
	}
}
