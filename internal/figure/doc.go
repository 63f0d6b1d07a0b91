// Package figure draws the figures of the planner, the accountant and the papers in
// one plain style, readable in grey, as SVG or PNG; and it marks the axes of all
// figures, the report's too, with round numbers or powers of ten, few enough to be
// read.
//
// It imports the plotting library alone. It knows nothing of privacy or of data.
package figure
