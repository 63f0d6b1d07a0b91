// Package stored reads the output folder of a run back: its report.json, and the values of its releases, each compared with
// the digest in the report. A file that is not the one in the report is refused.
//
// It may import report, specs, internal/data/file and internal/job/params, and so links neither the ledger nor the reader of tables: the
// companion that publishes stands on it. Releases in Parquet and Arrow are read by a function that the caller gives.
package stored
