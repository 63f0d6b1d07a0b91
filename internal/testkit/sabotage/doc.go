// Package sabotage holds the table of what hostile plugins were tried, and what stopped
// each: docs/sabotage.md. Its test builds the plugins, checks them, runs them in jobs with
// and without the sandbox, and looks whether they got what they wanted.
//
// It has no code of its own.
package sabotage
