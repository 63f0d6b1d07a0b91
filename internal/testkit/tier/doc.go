// Package tier lets a test run a sample of its cases in the fast tier, which is go test with
// the flag -short, and all of them otherwise.
//
// It imports the standard library, and is imported by tests only.
package tier
