package report

import (
	"fmt"
	"slices"

	"github.com/dprelease/dprelease/internal/say/document"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/amplify"
)

// Amplification is the rule that links what was spent on a sample to what the
// population is guaranteed, with its source.
type Amplification struct {
	// Rate is q, the largest probability with which a unit is in the sample.
	Rate float64 `json:"rate"`
	// Rule is the formula in words and signs.
	Rule   string `json:"rule"`
	Source string `json:"source"`
	// Bound is log(1+c)/c with c = ε/q: no efficiency is smaller. It is 0 where
	// the bound is not proved for the design.
	Bound float64 `json:"efficiency_bound,omitempty"`
}

const (
	oneRate = "ε′ = log(1 + q(e^ε − 1)) and δ′ = q·δ(ε)"
	balle   = "Balle, Barthe and Gaboardi, “Privacy Amplification by Subsampling: Tight Analyses via Couplings and Divergences” (2018)"
)

// NewAmplification describes one draw from a table of the given relation, where
// everything released from it has the target.
func NewAmplification(s privacy.Sampling, rel privacy.Relation, target privacy.Point) *Amplification {
	var a Amplification
	single := true // one inclusion probability, and the formula of oneRate inverted
	switch s := s.(type) {
	case privacy.Poisson:
		a = Amplification{Rate: s.Rate, Rule: oneRate, Source: balle + ", Theorem 8"}
		if rel == privacy.ReplaceOne {
			a.Rule = "ε′ = log(1 + q(e^ε − 1)) and δ′ = q((1−β)·δ(ε) under add-remove + β·δ(ε) under replace-one), β = e^(ε′−ε)"
			a.Source = balle + ", Theorem 2 (advanced joint convexity)"
		}
	case privacy.WithoutReplacement:
		a = Amplification{Rate: amplify.Rate(s.Take, s.Of), Rule: oneRate, Source: balle + ", Theorem 9"}
		if rel == privacy.AddRemove {
			a.Rule += ", with q = n/N for the smallest N that is public"
		}
	case privacy.WithReplacement:
		single = false
		a = Amplification{
			Rate:   amplify.WithReplacementRate(s.Take, s.Of),
			Rule:   "ε′ = log(1 + q(e^ε − 1)) with q = 1 − (1 − 1/N)^n, and δ′ is the average of the group profiles over how often a unit is drawn",
			Source: balle + ", Theorem 10",
		}
	case privacy.Multistage:
		single = false
		a = Amplification{
			Rate: inclusion(s.Stages),
			Rule: fmt.Sprintf("the smallest of three sound forms for %d stages: log(1 + η(e^(mε) − 1)) with m records below one first-stage unit; "+
				"the recursion from the last stage up; and publishing all units above the last stage", len(s.Stages)),
			Source: "docs/privacy-rules.md, rule P5, with its proof in privacy/amplify/multistage.proof.md; " + balle + ", Theorem 2",
		}
	case privacy.Rotation:
		single = false
		a = Amplification{
			Rate: s.Rate(),
			Rule: "all waves together: the average over the waves in which a unit may be, against nothing, in both directions, " +
				"as a loss distribution; never more than a unit pays whose waves are known",
			Source: "docs/privacy-rules.md, rule P34, with its proof in privacy/rotation.proof.md",
		}
	default:
		return nil
	}
	if single && a.Rate > 0 {
		a.Bound = amplify.EfficiencyBound(target.Epsilon / a.Rate)
	}
	return &a
}

// rules are the amplifications in a draw's event: of the sample itself, of the
// batches that a mechanism draws from it, and of shuffling.
func rules(w words, d Draw, event privacy.Event) (out []document.Part) {
	add := func(title, rule, source string) {
		one := document.Part{Heading: title, Text: w.note(rule), Class: document.Rule}
		if len(out) < 2*maxSpecial && !slices.ContainsFunc(out, func(p document.Part) bool { return p.Heading == title && p.Text == one.Text }) {
			out = append(out, one, document.Part{Text: source, Class: document.Quiet, Foreign: true})
		}
	}
	outer := d.sampled()
	walk(event, func(e privacy.Event, _ *privacy.Shuffled) {
		switch e := e.(type) {
		case privacy.Sampling:
			title := "rule.sample"
			if !outer {
				title = "rule.batches"
			}
			outer = false
			if a := NewAmplification(e, d.Guarantee.Relation, d.Target); a != nil {
				add(w.t(title, w.source(d.Name), percent(a.Rate)), a.Rule, a.Source)
			}
		case privacy.Shuffled:
			add(w.t("rule.shuffle", grouped(e.N)), shuffleRule, shuffleSource)
		}
	})
	return out
}

// source returns the words for what a release is from.
func (w words) source(name string) string {
	if name == All {
		return w.t("whole.table")
	}
	return name
}

const (
	shuffleRule = "the numeric bound of hiding each report among the clones that the other users’ noise makes of it; " +
		"for randomized response also the privacy blanket, summed exactly"
	shuffleSource = "Feldman, McMillan and Talwar, “Hiding Among the Clones: A Simple and Nearly Optimal Analysis of Privacy " +
		"Amplification by Shuffling” (2021); " +
		"Balle, Bell, Gascón and Nissim, “The Privacy Blanket of the Shuffle Model” (2019)"
)

// inclusion is the product of the stages' rates.
func inclusion(stages []privacy.Stage) float64 {
	q := 1.0
	for _, s := range stages {
		q *= amplify.Rate(s.Take, s.Of)
	}
	return q
}
