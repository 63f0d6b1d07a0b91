// Package lang serves the languages of dprelease: the job language (package
// job) and the expressions for events and questions (package expr). It reads YAML and
// JSON into yaml.v3's nodes, knows where everything stands, collects problems, and
// proposes the word that was most likely meant.
//
// A [Reader] reads one text. [Reader.Document] gives the root, or says why there is
// none; [Reader.Open] takes a value that is about to be used and [Reader.Pairs] takes
// a mapping apart; [Reader.Wrong] records a [Problem] at a [Place]. What a value means
// is up to the caller.
//
// The package may import the standard library and yaml.v3.
//
// It promises: each problem has a file, a line and a column, and the path of what is
// wrong; a key that is given twice is never read twice; a text of any size, nesting or
// number of aliases is answered in bounded time and memory, without a panic; and a
// message repeats only what the text itself says, escaped and cut.
package lang
