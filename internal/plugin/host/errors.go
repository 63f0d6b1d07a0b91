package host

import (
	"fmt"
	"maps"
	"slices"
)

// The codes of an Error. The set is fixed: after the first row has been handed over, a code is
// all that is said (P20). The texts below say what each one means.
const (
	CodeChecksum         = "PLUGIN_CHECKSUM"
	CodeStart            = "PLUGIN_START"
	CodeProgram          = "PLUGIN_PROGRAM"
	CodeSandbox          = "PLUGIN_SANDBOX"
	CodeProtocol         = "PLUGIN_PROTOCOL"
	CodeTimeout          = "PLUGIN_TIMEOUT"
	CodeCanceled         = "PLUGIN_CANCELED"
	CodeCrash            = "PLUGIN_CRASH"
	CodeDescription      = "PLUGIN_DESCRIPTION"
	CodeSelfNoising      = "PLUGIN_SELF_NOISING"
	CodeNondeterministic = "PLUGIN_NONDETERMINISTIC"
	CodeRefused          = "PLUGIN_REFUSED"
	CodePlan             = "PLUGIN_PLAN"
	CodeOversize         = "PLUGIN_OVERSIZE"
	CodeShape            = "PLUGIN_SHAPE"
	CodeNonfinite        = "PLUGIN_NONFINITE"
	CodeLattice          = "PLUGIN_LATTICE"
	CodeNoiseMismatch    = "PLUGIN_NOISE_MISMATCH"
	CodeNoiseFailed      = "PLUGIN_NOISE_FAILED"
	CodeFailed           = "PLUGIN_FAILED"
	CodeClosed           = "PLUGIN_CLOSED"
)

// Codes are all codes that an Error can have.
func Codes() []string {
	return slices.Collect(maps.Keys(texts))
}

// texts say what each code means and what to do; they are all that a user sees of
// a failure after the first row.
var texts = map[string]string{
	CodeChecksum: "executable does not have the sha256 that was given; check where it comes from, then name the new digest",
	CodeStart:    "process did not start or ended before its handshake; run the plugin check on it",
	CodeProgram: "the program that serves the built-in mechanisms is missing, or of another build; " +
		"make build, or the package, puts it beside dprelease",
	CodeSandbox: "this machine cannot confine the process as it must be; allow user namespaces and seccomp",
	CodeProtocol: "process does not speak version 1 of the plugin protocol; rebuild it against plugin-v1, " +
		"or update dprelease if it is newer",
	CodeTimeout:          "plugin did not answer in time and was killed; raise its timeout or look for a hang",
	CodeCanceled:         "call was given up and the plugin killed",
	CodeCrash:            "plugin ended in the middle of a call",
	CodeDescription:      "plugin does not describe the mechanism that was asked for",
	CodeSelfNoising:      "plugin draws noise of its own; allow it by name if you trust it",
	CodeNondeterministic: "plugin answers differently when asked the same twice",
	CodeRefused:          "mechanism refuses this release",
	CodePlan:             "plugin made a plan that the host cannot carry out",
	CodeOversize:         "message or result is larger than the limits of the plugin protocol",
	CodeShape:            "result does not have the shape of the plan",
	CodeNonfinite:        "result holds a number that is not finite",
	CodeLattice:          "result holds a value off its public lattice",
	CodeNoiseMismatch:    "noise calls differ from the plan",
	CodeNoiseFailed:      "host could not draw the noise that was asked for",
	CodeFailed:           "mechanism reported a failure",
	CodeClosed:           "plugin is closed",
}

// Error is a failure of a plugin.
type Error struct {
	Code   string
	Plugin string
	// Detail is only set before the first row: the plugin's own refusal of a plan
	// (printable, at most 500 characters), or what is wrong with a plan.
	Detail string
}

// Error names the plugin that failed, and how it failed. It holds nothing that depends on a
// row.
func (e *Error) Error() string {
	s := fmt.Sprintf("plugin %s: %s (%s)", e.Plugin, texts[e.Code], e.Code)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// Is makes errors.Is match by code: errors.Is(err, &host.Error{Code: host.CodeCrash}).
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && (t.Plugin == "" || t.Plugin == e.Plugin)
}
