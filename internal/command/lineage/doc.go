// Package lineage tells other programs what a run did: OpenLineage events over HTTP or
// into a file, and a file of metrics in the text format of Prometheus.
//
// It says public facts only (P19, P20): no number of rows, no duration, no cause. The last
// event of a run that has spent its budget carries the time of the debit, and a failure
// after the debit is told to files only. Nothing here changes how a run ends: what could
// not be sent is said once, as a note.
package lineage
