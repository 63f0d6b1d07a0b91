package planner

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Goal is an accuracy to reach.
type Goal struct {
	// Measure is "rse", "moe", "se", "rmse" (the same as se), "noise" or "half-kept".
	Measure string  `json:"measure"`
	Limit   float64 `json:"limit"`
	// Percent says that a margin of error is a part of the value, or in a share points.
	Percent bool `json:"percent,omitempty"`
}

var measures = []string{"rse", "moe", "se", "rmse", "noise", "half-kept"}

var goalPattern = regexp.MustCompile(`^\s*(rse|moe|se|rmse|noise|half-kept)\s*<=?\s*([0-9.eE+-]+)\s*(%?)\s*$`)

// ParseGoal reads "rse<2%", "moe<1%", "moe<500", "se<5", "rmse<5", "noise<1" or
// "half-kept<50".
func ParseGoal(s string) (Goal, error) {
	m := goalPattern.FindStringSubmatch(s)
	if m == nil {
		word := strings.TrimSpace(s)
		if at := strings.IndexAny(word, "<=>"); at >= 0 {
			word = strings.TrimSpace(word[:at])
		}
		hint := ""
		if !slices.Contains(measures, word) {
			hint = meant(word, measures...)
		}
		return Goal{},
			fmt.Errorf("solve: must be rse, moe, se, rmse, noise or half-kept below a number, such as rse<2%% or moe<1%%, not %q%s", s, hint)
	}
	x, err := strconv.ParseFloat(m[2], 64)
	if m[3] == "%" {
		x /= 100
	}
	switch {
	case err != nil || !(x > 0) || math.IsInf(x, 0):
		return Goal{}, fmt.Errorf("solve: the limit must be a positive number, not %q", m[2])
	case m[3] == "%" && m[1] != "rse" && m[1] != "moe":
		return Goal{}, errors.New("solve: only rse and moe are percentages")
	}
	return Goal{m[1], x, m[1] == "moe" && m[3] == "%"}, nil
}

// of is the goal's measure of a point, 0 where it is not known.
func (u *subject) of(g Goal, p Point) float64 {
	a := p.Accuracy
	switch g.Measure {
	case "rse":
		return a.Relative
	case "noise":
		return a.Noise95
	case "half-kept":
		return float64(p.HalfKept)
	case "moe":
		switch {
		case !g.Percent || u.statistic == sdk.StatisticShare:
			return a.Margin // points of a share
		case a.Total == 0:
			return 0
		}
		return a.Margin * a.Relative / a.Total
	}
	return a.Total
}

// unknown explains why a goal's measure is not known, and where in the job to help it.
func (u *subject) unknown(g Goal, a Accuracy) error {
	if g.Measure == "half-kept" {
		return u.wrong(u.path, "selects no keys, which half-kept is about", "choose with --release one whose groups nobody lists (docs/keys.md)")
	}
	relative := g.Measure == "rse" || g.Percent
	if u.column != nil && u.column.Bounds != nil {
		return u.wrong(job.Key("dataset.columns", u.column.Name),
			"has bounds that are found in private, and the error is in proportion to them: nobody knows it before the run",
			"choose another release with --release, or say lower and upper")
	}
	if u.numeric() {
		at := job.Key("dataset.columns", u.column.Name)
		switch {
		case g.Measure == "noise" && a.NoiseSD > 0:
		case u.model == nil && a.NoiseSD == 0:
			return u.wrong(at, "the noise depends on the data, and no distribution is assumed of the column",
				"add what is publicly known, such as assume: {distribution: normal, mean: 40, sd: 20}")
		case u.model == nil && a.Total == 0 || u.model == nil && relative:
			return u.wrong(at, "nothing is assumed of the column, so the error that "+g.Measure+" is about is not known",
				"add what is publicly known, such as assume: {mean: 40, sd: 20}, or solve for noise")
		case relative && a.Total > 0 && u.statistic != sdk.StatisticQuantile:
			return u.wrong(at+".assume", "has no mean, which "+g.Measure+" is relative to", "add mean, or solve for se")
		}
	}
	switch {
	case a.NoiseSD == 0 && !u.numeric():
		return u.wrong(u.path, fmt.Sprintf("the error of a release by %s is not known before it is made, so there is nothing to solve for%s",
			u.release.Mechanism, because(a.Unknown)),
			"choose another release with --release")
	case a.NoiseSD == 0:
		return u.wrong(u.path, a.Unknown, "choose another release with --release")
	case a.Unknown != "":
		return u.wrong(u.path, a.Unknown, "solve for noise, such as noise<5, or release from the table")
	case relative:
		return u.wrong(u.path, g.Measure+" is relative to a value, and nothing public says how large the value is",
			"say dataset.at_least or assume a mean of the column; or solve for se, such as se<5")
	}
	return u.wrong(u.path, "this error is not known without data", "solve for noise, such as noise<5")
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

// numeric reports whether the release is about a column of numbers. Only then can the job
// assume anything.
func (u *subject) numeric() bool { return u.column != nil && u.column.Type == job.Number }

// reached says the value of the goal's measure in words.
func (u *subject) reached(g Goal, p Point) string {
	y := u.of(g, p)
	if g.Measure == "rse" || g.Percent {
		return g.Measure + " is " + percent(y)
	}
	return fmt.Sprintf("%s is %.4g", g.Measure, y)
}

func (g Goal) limit() string {
	if g.Measure == "rse" || g.Percent {
		return percent(g.Limit)
	}
	return fmt.Sprintf("%g", g.Limit)
}
