// Command tables measures whole runs that release many numbers: all tables of two and of
// three out of 20 columns over a million rows (goal: 2 s), and five statistics by 50 groups
// over 20 million rows against DuckDB's one query (goal: at most twice its time).
//
//	bin/lab/tables
//	bin/lab/tables -groups lab/data/groups-20m.parquet
//
// It takes turns. On a busy machine only the processor time says anything.
package main
