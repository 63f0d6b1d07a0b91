// Package document holds what people are told of a job, in an order: sections with sentences, tables and figures. A fact stands in
// a document once, and each writer shows it in its own way: WriteText on a terminal, package report on a page.
//
// It imports the standard library alone.
package document
