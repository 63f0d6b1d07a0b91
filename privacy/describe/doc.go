// Package describe writes an event as one line for people. It knows no kind of event by name: it walks
// the declarations of package privacy ([privacy.Kind]), which is all that it imports besides the
// standard library. A line is short, and is not read back: package expr has the text that is.
package describe
