// Package expr reads privacy events and questions about
// them: YAML or JSON on one side, [privacy.Event] on the other.
//
//	relation: add-remove
//	event: {repeat: {n: 1000, event: {poisson: {rate: 0.01, event: {gaussian: {sigma: 1.0}}}}}}
//	query: {delta: 1e-6}
//
// [ParseQuery] reads such a question, [Parse] an event alone; privacy.Canonical writes
// an event as JSON. The text is specified in specs/account-v1.md.
//
// The package knows no kind of event by name. It walks the declarations of package
// privacy ([privacy.Kind]), so that a new kind needs no change here. Places, problems
// and hints come from internal/job/lang.
//
// It may import internal/job/lang, package privacy, the standard library and yaml.v3.
//
// It promises that one pass finds every problem of a text, each with line, column and
// field; that it ignores nothing unknown and guesses nothing missing; that the time
// for a text of any size, depth or number of aliases is proportional to its first
// mebibyte, without a panic; and that Parse(privacy.Canonical(e)) is e for every event that
// it accepts.
//
// It does not decide what an event costs, and it cannot know whether the event
// happened. A number means the nearest float64.
package expr
