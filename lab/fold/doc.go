// Command fold measures how fast rows become units, against DuckDB's
//
//	select avg(s) from (select sum(x) s from t group by id)
//
// on the same table and the same number of threads, in turns and in one session. The program reads the Parquet file, folds
// the units, and averages what it folded; the host's other work is not in it. It is for developers: it needs Node.js and
// the packages of the folder bench.
//
//	bin/lab/genfloats -rows 20000000 -units 2000000 lab/data/units-20m.parquet
//	bin/lab/fold lab/data/units-20m.parquet
//
// With -large N it folds and numbers N units of one row each that it makes up, in the given -memory, and says how long
// that takes and how much memory the process had at most.
package main
