package report

import "strings"

// Exact is an amount of a budget, in exact decimals.
type Exact struct {
	Epsilon string `json:"epsilon,omitempty"`
	Delta   string `json:"delta,omitempty"`
	Rho     string `json:"rho,omitempty"` // in place of the two
}

func (x Exact) String() string {
	if x.Rho != "" {
		return "ρ\u00a0" + x.Rho
	}
	return "ε\u00a0" + x.Epsilon + ", δ\u00a0" + strings.Replace(x.Delta, "e-0", "e-", 1)
}

// Spend is the cost of a job in all where its releases share a budget.
type Spend struct {
	Exact
	// Larger says that the shares add up to more: releases together cost less than the sum
	// of what each may cost alone.
	Larger bool `json:"shares_exceed,omitempty"`
}

// Share is the part of a job's budget that a release was given.
type Share struct {
	Exact
	Weight string `json:"weight"`
	// By is "error" where the share makes the relative error as the weight asks, and
	// "weight" where that error is not public and the share is in proportion to the weight.
	By string `json:"by"`
	// Relative is the standard deviation of the noise over the value to expect, 0 where one
	// of the two is not public.
	Relative float64 `json:"relative_error,omitempty"`
}

// text describes what the job spends and how that was divided, "" where nothing was.
func (s *Spend) text(w words) string {
	if s == nil {
		return ""
	}
	text := w.t("spend.text", s.Exact)
	if s.Larger {
		text += " " + w.t("spend.larger")
	}
	return text
}

// Amount returns what was asked for a release in ρ, or its share of a job's budget, ""
// where the job states its ε and δ.
func (e *Release) Amount() string {
	switch s := e.Share; {
	case e.Rho != nil:
		return "ρ\u00a0" + e.Rho.Asked
	case s != nil:
		return s.Exact.String()
	}
	return ""
}

// asked describes what was asked for a release in ρ, or given to it of a job's budget, ""
// where the job states its ε and δ.
func (e *Release) asked(w words) string {
	var parts []string
	if s := e.Share; s != nil {
		parts = append(parts, w.t("spend.share", s.Exact, s.Weight))
		switch {
		case s.Relative > 0:
			parts = append(parts, w.t("spend.by_error", percent(s.Relative)))
		case s.By == "error":
			parts = append(parts, w.t("spend.by_secret"))
		default:
			parts = append(parts, w.t("spend.by_weight"))
		}
	}
	switch {
	case e.Rho != nil && e.Share != nil:
		parts = append(parts, w.t("spend.stands", point(e.Target.Epsilon, e.Target.Delta, Allowed), e.Rho.Charged))
	case e.Rho != nil:
		parts = append(parts, w.t("spend.rho", e.Rho.Asked, point(e.Target.Epsilon, e.Target.Delta, Allowed), e.Rho.Charged))
	}
	return strings.Join(parts, "; ")
}
