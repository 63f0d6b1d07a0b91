package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The page tells what the program measures: the fits without privacy are those in
// it, releases at a large epsilon come close to them, and none is better.
func TestPageIsOfThisProgram(t *testing.T) {
	page, err := os.ReadFile("../studies/sgd-accuracy.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sgd-schools", "sgd-income"} {
		s, err := newStudy("../../examples/" + name + "/job.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.measure(8, 5); err != nil {
			t.Fatal(err)
		}
		p := s.points[0]
		if p.low < s.free || p.median > 1.01*s.free || p.median > s.null {
			t.Errorf("%s: loss %+v, without privacy %v, without features %v", name, p, s.free, s.null)
		}
		if want := fmt.Sprintf("Without privacy %.5f; without features %.5f.", s.free, s.null); !strings.Contains(string(page), want) {
			t.Errorf("%s: the page does not say %q: run make sgd-accuracy", name, want)
		}
		if svg := loss([]study{*s}).SVG(); !strings.Contains(string(svg), "<path") {
			t.Errorf("%s: the picture is empty", name)
		}
	}
	// Less noise before the last step costs nothing and keeps more of the model.
	explained := map[string]float64{}
	for _, name := range []string{"cyclic", "one_pass", "one_pass_rising"} {
		s, err := newStudy("../../examples/sgd-batches/job.yaml#" + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.measure(1, 5); err != nil {
			t.Fatal(err)
		}
		explained[name] = (s.null - s.points[0].median) / (s.null - s.free)
		if !strings.Contains(string(page), fmt.Sprintf("| `%s` | %d |", name, s.reads)) {
			t.Errorf("the page does not tell of %s: run make sgd-accuracy", name)
		}
	}
	if explained["one_pass_rising"] < explained["one_pass"]+0.3 || explained["cyclic"] < 0.7 {
		t.Errorf("explained at epsilon 1: %v", explained)
	}
	for _, e := range epsilons {
		if strings.Count(string(page), fmt.Sprintf("\n| %g |", e)) != 2 {
			t.Errorf("the page has not two lines for epsilon %g", e)
		}
	}
}
