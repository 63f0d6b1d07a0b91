// Package truth holds a test of everything that a job can say of rows: random jobs over two real tables are run with so
// much budget that the noise vanishes, and each released cell is compared with what DuckDB computes for the same question.
//
// DuckDB and the table of flights come from npm, with the versions of package-lock.json: run npm ci in this folder. The
// flights are those of the package vega-datasets (three million flights of 2001), the persons those of examples/data.
package truth
