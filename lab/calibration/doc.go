// Command calibration measures three ways to use public totals of a population in a private survey: in the weights,
// after the noise, and not at all. It also measures how far one respondent moves raked weights.
// It writes the tables of lab/studies/calibration.md; `make calibration` runs it. All draws are from fixed seeds.
package main
