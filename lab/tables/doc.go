// Command tables measures whole runs that release many numbers: all tables of two and of
// three out of 20 columns over a million rows (goal: 2 s), and five statistics by 50 groups
// over 20 million rows against DuckDB's one query (goal: at most twice its time). So do sums
// by 50 groups over two private tables, visits joined to persons.
//
//	bin/lab/tables
//	bin/lab/tables -groups lab/data/groups-20m.parquet
//	bin/lab/tables -joined lab/data/joined-20m
//
// It takes turns. On a busy machine only the processor time says anything.
package main
