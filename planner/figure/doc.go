// Package figure draws the plots of the planner and of the papers' gallery in one
// quiet style: lines told apart by dashes and shade, so that they read the same in
// print and in grey. It imports gonum/plot and nothing of the project. It knows
// nothing about data; what it is given is drawn.
package figure
