// Command compare measures whole runs of dprelease against DuckDB's average of the
// same column, each on one processor and on two, side by side in one session, and prints
// ratios of wall and of processor time. It is for developers: it needs Node.js, taskset and
// the packages of this folder.
package main
