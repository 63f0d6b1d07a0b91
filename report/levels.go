package report

import (
	"strings"

	"github.com/dprelease/dprelease/privacy"
)

// Level is the cost of the job for somebody who is less or more than one unit: a member of it, of which Table has one row
// each, or a group of up to AtMost units. It is not charged. A delta of 1 promises nothing.
type Level struct {
	Name    string  `json:"name"`
	Of      string  `json:"of"`                // LevelMember or LevelGroup
	Table   string  `json:"table,omitempty"`   // of members, where there are several tables
	AtMost  int64   `json:"at_most,omitempty"` // units of a group
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	// Below lists the releases that a member moves by less than a whole unit may.
	Below []string `json:"below,omitempty"`
}

// What a level is.
const (
	LevelMember = "member"
	LevelGroup  = "group"
)

// label returns whom a level is about.
func (l Level) label(w words) string {
	if l.Of == LevelGroup {
		return w.t("level.group_label", l.Name)
	}
	return w.t("level.member_label", l.Name)
}

// text writes what a level costs, and what changes between the tables that the promise is about.
func (l Level) text(w words, d Dataset) string {
	cost := point(l.Epsilon, l.Delta, Spent)
	if l.Delta >= 1 {
		cost = w.t("level.none")
	}
	if l.Of == LevelGroup {
		return cost + ": " + w.t("level.group", l.AtMost, w.many(d))
	}
	changes := w.t("level.presence")
	if d.Relation == privacy.ReplaceOne {
		changes = w.t("level.record")
	}
	text := cost + ": " + w.t("level.member", w.one(d), changes)
	if l.Table != "" {
		text = cost + ": " + w.t("level.member_of", l.Table, changes, w.one(d))
	}
	if len(l.Below) > 0 {
		text += "; " + w.t("level.below", w.one(d), strings.Join(l.Below, ", "))
	}
	return text
}
