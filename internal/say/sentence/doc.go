// Package sentence holds every sentence about a job, a release and a promise, in one file for each language. Plan, run, report, look,
// page and publication say a fact in the same words, because there is one place for them.
//
// Mechanisms, designs and methods write their own remarks into a report, in English. Note has them in other languages.
package sentence
