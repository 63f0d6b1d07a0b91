// Package features turns declared columns into the coordinates of a linear model.
//
// A number takes one coordinate, scaled by its public bounds to [-1, 1]. A category
// takes one coordinate, 0 or 1, for every value of its domain except the first, which
// is the reference. The scaling follows from the job alone: no value of the table
// changes it.
//
// The mechanisms sgd and regression use it. It imports the SDK and the standard
// library. It adds no noise and protects nothing.
package features
