// Package packaging holds what a release is packed with, and what is tested with tools
// that the program itself does not need.
package packaging
