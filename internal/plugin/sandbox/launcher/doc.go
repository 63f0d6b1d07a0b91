// Package launcher confines the process that is to become a plugin: a program that imports it is started under [Name],
// confines itself, and becomes the plugin before anything else of it runs.
//
// It imports the standard library, golang.org/x/sys, x/net/bpf and the calls of Landlock alone, so that little of a
// program is made before it looks for the name. Package sandbox says what it promises, and what it does not protect against.
package launcher
