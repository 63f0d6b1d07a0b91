// Package german finds English on a German page. Tests use it where they have a report.
package german
