// Package job holds what a job says, as values: the data set and its columns, what is drawn, what is released and what it may
// cost. Package language reads them from a file and says what is wrong with it; nothing here knows how a job is written, and
// nothing changes a job that was read.
//
// The package does no input and no output. What it works out is which columns and rows a table, a release or a member of it
// means, and where in the file a key stands, for errors.
package job
