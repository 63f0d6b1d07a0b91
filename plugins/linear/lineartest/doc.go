// Package lineartest tries all small units on a linear mechanism: every unit that a cap
// allows, of rows with every combination of extreme, middle and missing values, against
// every other. It is for the tests of the mechanisms, imports the SDK, its sdktest and
// privacy, and protects nothing.
package lineartest
