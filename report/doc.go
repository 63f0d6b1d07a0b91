// Package report is the privacy report: what was released, what guarantee it
// carries on the population, what was spent on the sample, and the rule that
// links the two. Its law is specs/report-v1.md.
//
// A report holds public facts only (P19): the specification, events, charged
// guarantees and noise scales that do not depend on data. It has no field for a
// realised sample size, a seed, a run time or a count of missing values, and no
// time of day.
package report
