// Package report is the privacy report: what was released, what guarantee it
// carries on the population, what was spent on the sample, and the rule that
// links the two. Its law is specs/report-v1.md; docs/report.md explains it to a
// statistician.
//
// A Report holds public facts only (P19): the specification, events, charged
// guarantees and noise scales that do not depend on data. It has no field for a
// realised sample size, a seed, a run time or a count of missing values, and no
// time of day.
//
// A Page is the same for people: one self-contained HTML file with SVG figures,
// readable without scripts. NewPage evaluates the events and draws the figures,
// without data; WriteHTML adds the released values and nothing else.
//
// It may import privacy, internal/expr, gonum/plot and the standard library. It
// promises pages of bounded size that are the same for the same report. It does
// not check that the events happened; that is the word of who made the report.
package report
