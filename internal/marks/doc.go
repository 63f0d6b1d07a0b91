// Package marks puts the marks on the axes of all figures: round numbers, and powers
// of ten, few enough to be read.
//
// It imports the plotting library alone. How a number is written is its callers'
// business.
package marks
