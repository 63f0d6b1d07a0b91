// Package call holds what the program and its companion for object storage say to each
// other: requests and answers, as values of encoding/gob on the companion's standard
// input and output. Fetched ranges do not pass there: the companion writes them into a
// file that it inherits.
//
// It imports the standard library.
package call
