// Package columns holds the columns of what a release publishes. A mechanism fills them, the host blanks values in them, and files and
// pages are written from them. It imports nothing of the module.
package columns
