// Package tables writes a run's releases as offices publish them: values rounded to the digits that their noise leaves meaningful, marks
// on unreliable values, one workbook in the format of Excel with a sheet for each table, one CSV file for each table with
// metadata by CSV on the Web, a DCAT record, a list of the tables and a dictionary of the columns.
//
// It reads report.json and released values alone, so everything in it is post-processing and costs nothing. The same run and
// the same rules give the same bytes.
//
// The workbooks are written here, with archive/zip and encoding/xml's escapes: a publication needs texts, numbers and
// their decimals, which take a page for each format. No Go library writes both formats, and the one that writes Excel's
// brings ten modules.
//
// The package may import report and the standard library.
package tables
