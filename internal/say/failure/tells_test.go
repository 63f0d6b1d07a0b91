package failure_test

import "slices"

// tale is the most that one or several codes tell about the table. No noise covers it (P33). docs/what-leaves.md is
// generated from these declarations.
type tale struct {
	Codes []string
	When  string // "free": before the debit; "paid": after it; "both"; "" where the codes tell nothing
	Tells string // "" where the codes tell nothing about the table
}

// tellsOf returns what a code tells, or false for a code that nobody classified.
func tellsOf(code string) (tale, bool) {
	if i := slices.IndexFunc(tales, func(t tale) bool { return slices.Contains(t.Codes, code) }); i >= 0 {
		return tales[i], true
	}
	return tale{}, false
}

// When an answer is given.
const (
	free = "free" // before the debit, any number of times
	paid = "paid" // after the debit, however small that is
	both = "both"
)

// tales classify every code.
var tales = []tale{
	{[]string{"DATA_MISSING"}, paid, "A column that the job declares complete has a missing value. The job chooses the column."},
	{[]string{"DATA_OUTSIDE"}, paid,
		"A column holds a category outside the domain. The job chooses both, so this answers: does anybody have a value outside this list?"},
	{[]string{"DATA_TYPE"}, paid, "A column holds a value that cannot be read as the type that the job chooses."},
	{[]string{"DATA_UNIT"}, paid, "A unit or a member of it has two rows, or a row names no unit; in a panel, a key is neither a text " +
		"nor a whole number. The job chooses the column."},
	{[]string{"SAMPLE_SIZE_MISMATCH"}, paid, "The number of units is another than `dataset.size`, a number of the job."},
	{[]string{"SAMPLE_TOO_FEW_ROWS"}, paid, "The table has fewer units than `dataset.at_least`, a number of the job."},
	{[]string{"SAMPLE_FRAME_MISMATCH"}, paid,
		"A unit of the frame has another number of rows than the frame says, and the frame is a file of the job."},
	{[]string{"DATA_UNFIT", "DATA_NO_NUMBERS"}, free,
		"`check --data` found something at which a run would fail. Its exit code says so wherever its output goes."},
	{[]string{"INVALID_JOB"}, free, "The table has another number of rows than `dataset.size`, or a unit of the frame has, " +
		"where each row is a unit; a column has another type than the job says."},
	{[]string{"SOURCE_UNREADABLE", "SOURCE_DENIED", "SOURCE_TLS"}, both,
		"Which tables and columns may be read, and how their server is reached."},
	{[]string{"SOURCE_UNREACHABLE"}, both, "Free: the server does not answer. Paid: a query failed on a row, whatever the row and the " +
		"reason. The job chooses the query, so this answers any question about one row."},
	{[]string{"SOURCE_NOT_FOUND", "SOURCE_NO_SUCH_COLUMN", "SOURCE_SCHEMA_DIFFERS", "SOURCE_UNSUPPORTED"}, both,
		"Which files, folders (such as `town=Berlin`) and columns exist, of which types, formats and permissions. " +
			"The job chooses the path, which may be a pattern."},
	{[]string{"SOURCE_CORRUPT"}, both, "A file contradicts its format; for CSV, in which line and column it does so first, " +
		"by the `delimiter` of the job. After the debit: the draw took rows from a damaged part."},
	{[]string{"SOURCE_LIMIT"}, both, "The table needs more memory than a quarter of the machine's, rounded down to a power of two; " +
		"or has more units or texts than a run can hold. Whoever chooses the machine or its limits can ask with another number."},
	{[]string{"SOURCE_CHANGED"}, both, "Somebody wrote to the table while the run read it."},
	{[]string{"SOURCE_INVALID_ARGUMENT", "SAMPLE_SAMPLER_MISUSE", "INTERNAL", "PANIC", "CRASHED", "PLAN_UNSOUND", "REPORT",
		"NO_RANDOMNESS"}, both, "The table met a bug of the program, or the machine is broken: at most which of these codes."},
	{[]string{"KEYS_MANY"}, paid, "A column has more different values than can be numbered."},
	{[]string{"TEMP_FULL", "TEMP_UNUSABLE"}, paid, "Units or values fit neither in memory nor on the disk of `TMPDIR`. " +
		"Whoever can fill that disk, or name a small one, learns how much they need."},
	{[]string{"SAMPLE_CHANGED"}, both, "The table is not the one that a kept sample was drawn from."},
	{[]string{"RUN_REVISED"}, free, "A slice that was released holds other data now; or an earlier slice of a series does, " +
		"than when it was measured. That answers for one row whether it changed."},
	{[]string{"RUN_RELEASED"}, both, "The table is the one of an earlier release: also told by a run that succeeds without spending, " +
		"so whoever runs a job every day learns on which days the table did not change."},
	{[]string{"BUDGET_SAME_DATA"}, both, "At most: is a column, byte for byte, the caller's guess (P40)? Another account was charged " +
		"for one with the same bytes; or another slice, for the same values in all columns that the job reads. Or a lookup of the job is a " +
		"private table, by place, link or bytes. Each answer is a record that `ledger show` lists."},
	{[]string{"RUN_UNFINISHED"}, free, "An earlier run of this job failed, or was killed, between its debit and its releases. " +
		"On the same data its code is repeated."},
	{[]string{"RUN_ELSEWHERE", "RUN_FENCED", "RUN_OVERTAKEN", "INTERRUPTED", "LEDGER_LOCKED"}, both,
		"How long a run works on the table: longer than `--wait`, than its lease, than until somebody stopped it, or than another job."},
	{[]string{"OUTPUT_TOO_LARGE", "NOT_PUBLISHED", "LEDGER_FULL", "OUTPUT_UNWRITABLE"}, both,
		"The releases do not fit on a disk, or in the ledger. Their size follows from the job and from released values; " +
			"that a run got so far tells that nothing above failed."},
	{[]string{"PLUGIN_CANCELED", "PLUGIN_CHECKSUM", "PLUGIN_CLOSED", "PLUGIN_CRASH", "PLUGIN_DESCRIPTION", "PLUGIN_FAILED", "PLUGIN_KEYS",
		"PLUGIN_LATTICE", "PLUGIN_NOISE_FAILED",
		"PLUGIN_NOISE_MISMATCH", "PLUGIN_NONDETERMINISTIC", "PLUGIN_NONFINITE", "PLUGIN_OVERSIZE", "PLUGIN_PLAN",
		"PLUGIN_PROGRAM", "PLUGIN_PROTOCOL",
		"PLUGIN_REFUSED", "PLUGIN_SANDBOX", "PLUGIN_SELF_NOISING",
		"PLUGIN_SHAPE", "PLUGIN_START"}, paid,
		"A mechanism cannot handle these rows; `sgd`, for example, holds at most 134 million. Whoever wrote the plugin chooses which code " +
			"a row causes: at most five bits a run, about any row."},
	{[]string{"PLUGIN_TIMEOUT"}, paid, "A mechanism works longer than the plugin's `timeout`, or, as `PLUGIN_CRASH`, needs more than " +
		"its `memory`. Both are numbers of the job."},
	{[]string{"ENGINE_DIFFERS", "ENGINE_FAILED", "ENGINE_REFUSED", "ENGINE_SUMS"}, both,
		"A machine of the engine did not add up its part: it failed, or its files are others."},
	{[]string{"BUDGET_ACCOUNT", "BUDGET_BILL", "BUDGET_EXCEEDED", "BUDGET_FILTER", "BUDGET_KEPT", "BUDGET_LIMIT", "LEDGER_ADDRESS",
		"LEDGER_BROKEN", "LEDGER_CLOCK", "LEDGER_MISSING", "LEDGER_MOVED",
		"LEDGER_OTHER", "LEDGER_PINNED", "LEDGER_READ_ONLY", "LEDGER_REFUSED", "LEDGER_ROLLED_BACK", "LEDGER_SAMPLE", "LEDGER_TAMPERED",
		"LEDGER_UNKNOWN", "LEDGER_TLS", "LEDGER_UNREACHABLE", "LEDGER_UNREADABLE", "LEDGER_UNSAFE", "LEDGER_VERSION", "SERIES_ORDER"}, both,
		"What the ledger says, and how far the run had got by then. A job that was released and is now refused for its budget shows that " +
			"the table is another."},

	{Codes: []string{"OUTPUT", "REGISTRY_INCOMPLETE", "RELEASES_UNREADABLE", "RELEASE_CHANGED", "REPORT_UNREADABLE", "USAGE",
		"INVALID_QUESTION", "JOB_UNREADABLE", "PLAN_REFUSED", "ENGINE_MISSING", "PLUGIN_CATALOG", "PLUGIN_UNCHECKED",
		"LEDGER_ALTERED", "LEDGER_CHAIN", "LEDGER_FORKED", "LEDGER_OVERSPENT", "LEDGER_RECORD", "LEDGER_STORED", "LEDGER_TABLES",
		"LEDGER_UNDEBITED"}},
}
