// Package parquet holds comparisons of what the program reads and writes of Parquet with what arrow-go does. The program does
// not import arrow-go: it weighs a quarter of a build.
package parquet
