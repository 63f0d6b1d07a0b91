// Package report is the privacy report. It says what was released, what guarantee the
// population has, what was spent on the sample, and which rule links the two.
// specs/report-v1.md defines the format; docs/report.md explains it to a statistician.
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
// It may import privacy, privacy/expr, internal/say and the standard
// library. A page has a bounded size, and the same report gives the same page. The
// package does not check that the events happened: whoever wrote the report vouches for
// that.
package report
