// Package account is the command `dprelease account`: the accountant on its own, for
// people who would open a notebook otherwise. It reads questions ({relation, event, query},
// specs/account-v1.md), asks package privacy, and answers with a table, JSON or JSON lines.
//
// It may import privacy/expr and privacy.
//
// It promises one answer for each question, in the order of the questions, and each
// answer whole. A bad line of a stream costs only that line. Memory is bounded by a few
// lines for each processor. The command writes an answer as soon as the next one is not
// ready. Numbers that are shown with fewer digits are rounded to the safe side (P17). A
// figure that is claimed and not charged is always marked as such.
//
// It does not know whether the event in a question happened. The figures are
// public facts about a design; no data is read.
package account
