// Package whole writes files that appear whole or not at all, in the place of what was there. On Unix that is renameio;
// Windows has no such step, and there a file is written beside its place and moved.
package whole
