// Package measure holds what the programs of bench and the studies of examples share: tables from CSV files, the public
// facts about a whole table, the noise of a run, the part of a page that a program writes, and what a process costs.
// Nothing in it makes a release.
package measure
