// Command compare measures whole runs of dprelease against DuckDB's average of the
// same column on one thread and on two, side by side in one session, and prints ratios. It
// is for developers: it needs Node.js and the packages of this folder.
package main
