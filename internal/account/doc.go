// Package account is the command `dprelease account`: the accountant on its
// own, for people who would otherwise open a notebook. It reads questions
// ({relation, event, query}, specs/account-v1.md), asks package privacy, and
// answers as a table for people, as JSON, as JSON lines, or with a plot.
//
// It may import internal/expr, privacy and gonum/plot.
//
// It promises: one answer for each question, in order, and none that is only
// partly written; a bad line of a stream costs only itself; memory is bounded
// by a few lines per processor; an answer is written out as soon as nothing
// finished waits behind it; what is shown with fewer digits is rounded to the
// safe side (P17); a figure that is claimed and not charged is always marked
// so.
//
// It does not know whether the event in a question happened. The figures are
// public facts about a design; no data is read.
package account
