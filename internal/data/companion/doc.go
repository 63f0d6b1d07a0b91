// Package companion finds the programs that stand beside this one, as git finds its commands. It imports the standard
// library.
package companion
