package host

import (
	"fmt"
	"maps"
	"slices"
)

// The codes of an Error. The set is fixed: after the first row has been handed
// over, a code is all that is said (P20).
const (
	// CodeChecksum: the executable is not the one that was named by its SHA-256.
	CodeChecksum = "PLUGIN_CHECKSUM"
	// CodeStart: the process could not be started or ended before its handshake.
	CodeStart = "PLUGIN_START"
	// CodeSandbox: the plugin cannot be confined as it was to be.
	CodeSandbox = "PLUGIN_SANDBOX"
	// CodeProtocol: the plugin speaks no version of the protocol that the host speaks.
	CodeProtocol = "PLUGIN_PROTOCOL"
	// CodeTimeout: a deadline passed.
	CodeTimeout = "PLUGIN_TIMEOUT"
	// CodeCanceled: the caller gave up.
	CodeCanceled = "PLUGIN_CANCELED"
	// CodeCrash: the process or its connection ended in the middle of a call.
	CodeCrash = "PLUGIN_CRASH"
	// CodeDescription: the description is malformed or lacks the mechanism.
	CodeDescription = "PLUGIN_DESCRIPTION"
	// CodeSelfNoising: the plugin draws its own noise and is not allowed to.
	CodeSelfNoising = "PLUGIN_SELF_NOISING"
	// CodeNondeterministic: Describe or Plan answered differently when asked again.
	CodeNondeterministic = "PLUGIN_NONDETERMINISTIC"
	// CodeRefused: Plan says that it cannot serve this request.
	CodeRefused = "PLUGIN_REFUSED"
	// CodePlan: the plan is malformed or cannot be carried out by the host.
	CodePlan = "PLUGIN_PLAN"
	// CodeOversize: a message or a result is larger than the limits allow.
	CodeOversize = "PLUGIN_OVERSIZE"
	// CodeShape: the result does not have the shape of the plan.
	CodeShape = "PLUGIN_SHAPE"
	// CodeNonfinite: the result holds NaN or an infinity.
	CodeNonfinite = "PLUGIN_NONFINITE"
	// CodeLattice: the result holds a value off its public lattice.
	CodeLattice = "PLUGIN_LATTICE"
	// CodeNoiseMismatch: the noise calls were not those of the plan.
	CodeNoiseMismatch = "PLUGIN_NOISE_MISMATCH"
	// CodeNoiseFailed: the host could not draw what was asked for.
	CodeNoiseFailed = "PLUGIN_NOISE_FAILED"
	// CodeFailed: the mechanism reported a failure of its own.
	CodeFailed = "PLUGIN_FAILED"
	// CodeClosed: the plugin has been closed, or was after an earlier failure.
	CodeClosed = "PLUGIN_CLOSED"
)

// Codes are all codes that an Error can have.
func Codes() []string {
	return slices.Collect(maps.Keys(texts))
}

// texts say what each code means and what to do; they are all that a user sees of
// a failure after the first row.
var texts = map[string]string{
	CodeChecksum:         "executable does not have the sha256 that was given; check where it comes from, then name the new digest",
	CodeStart:            "process did not start or ended before its handshake; run the plugin check on it",
	CodeSandbox:          "this machine cannot confine the process as the job demands; allow user namespaces, or say sandbox: best if you trust the plugin with this machine",
	CodeProtocol:         "process does not speak version 1 or 2 of the plugin protocol; rebuild it against plugin-v2, or update dprelease if it is newer",
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

// Error says which plugin failed and how. It holds nothing that depends on a row.
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
