// Command generate makes the tables of the examples: trips, which are invented, and from
// the other CSV files Parquet files and the public frame of the schools.
package main
