// Package early has the process of a built-in mechanism started where a command line
// asks for something that most likely needs one, while the program is still being
// initialised. It does so because it is imported, and imports no package that takes
// long; package launch says what for.
package early
