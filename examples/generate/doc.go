// Command generate makes the tables of the examples from their CSV files: Parquet
// files, and the public frame of the schools.
package main

//go:generate go run . ../data
