// Package scripttest finds the interpreters that tests start: Python with the libraries of
// the SDK, and Node. Where one is missing the test is skipped, visibly, and fails where CI
// is set. It imports the standard library and is imported by tests only.
package scripttest
