// Package storedtest makes output folders for tests out of a report and its values. It imports report and the standard library.
package storedtest
