// Rsurvey compares the program, at noise next to nothing, with R's package survey: estimates, standard errors and intervals of each
// design, statistic by statistic. It writes lab/studies/survey.md.
//
// R's numbers and the samples stand in data; survey.R made them (rsurvey -r runs it again, which needs Rscript and the package).
package main
