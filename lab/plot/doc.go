// Package plot draws the figures of the studies and the papers: curves, marks and violins on
// axes that span what is drawn, as SVG documents with a style of their own that is readable in grey. It stands on
// package figure and gonum's quantiles.
package plot
