package failure

import "slices"

// Code is one word that a failure may end with, and all that a script needs to know
// of it. docs/exit-codes.md is generated from this declaration.
type Code struct {
	Name    string
	Exit    int
	Retry   Retry // before the debit; see Failure.Retry
	Meaning string
	Do      string
}

// CodeOf finds a code. A word that is not declared is treated as a bug: a person has
// to look.
func CodeOf(name string) Code {
	if i := slices.IndexFunc(All, func(c Code) bool { return c.Name == name }); i >= 0 {
		return All[i]
	}
	return Code{Name: name, Exit: ExitBug, Retry: RetryLook}
}

// All are all codes of all commands, by exit code and name.
var All = []Code{
	{"INTERNAL", ExitBug, RetryLook, "a bug in dprelease", "report the line that was printed; it holds no data"},
	{"CRASHED", ExitBug, RetryNo, "a bug in dprelease ended the run after its debit",
		"do not run the job again, it would most likely fail again; report the fault"},
	{"NO_RANDOMNESS", ExitBug, RetryLook, "the operating system's random generator cannot be read", "mend the machine"},
	{"OUTPUT", ExitBug, RetryYes, "the answer could not be written to standard output", "free the disk or the pipe, and ask again"},
	{"PANIC", ExitBug, RetryLook, "a bug in dprelease",
		"report the line that was printed, which holds no data; look with `ledger show` before the job is run again"},
	{"PLAN_UNSOUND", ExitBug, RetryLook, "the plan costs more than it was made for", "report the job: this is a bug"},
	{"REPORT", ExitBug, RetryLook, "a page of the report cannot be made", "report the job: this is a bug"},
	{"SAMPLE_SAMPLER_MISUSE", ExitSource, RetryLook, "a draw was not made as its design demands", "report the job: this is a bug"},

	{"OUTPUT_UNWRITABLE", ExitUsage, RetryNo, "the output folder cannot be made or read", "name a folder that can be written"},
	{"REGISTRY_INCOMPLETE", ExitUsage, RetryNo, "the registry demands words that only a person knows",
		"add what is named to `publication` in the job, and name the job with `--words`"},
	{"RELEASES_UNREADABLE", ExitUsage, RetryNo, "a folder of releases cannot be searched", "check the path and the permissions"},
	{"RELEASE_CHANGED", ExitUsage, RetryNo, "a file of a release is missing, or is not the one that report.json names",
		"move the folder away and run the job again: the stored file comes back"},
	{"REPORT_UNREADABLE", ExitUsage, RetryNo, "report.json is not there, or not a report", "name the output folder of a run"},
	{"USAGE", ExitUsage, RetryNo, "an unknown command or flag, or a wrong number of arguments", "see `--help`"},

	{"INVALID_JOB", ExitInvalidJob, RetryNo, "the job is not valid, or does not fit the table's public facts",
		"mend what is printed as `file:line:column`"},
	{"INVALID_QUESTION", ExitInvalidJob, RetryNo, "the question to the accountant is not valid, or has no answer",
		"mend what is printed; see `docs/account.md`"},
	{"JOB_UNREADABLE", ExitInvalidJob, RetryNo, "the job file cannot be read", "check the path and the permissions"},
	{"PLAN_REFUSED", ExitInvalidJob, RetryNo, "`plan --sweep`, `--solve` or `--compare` cannot be answered for this job",
		"ask another question"},

	{"BUDGET_BILL", ExitBudget, RetryLook, "the ledger prices the job above its plan, or the run did something else than was debited",
		"plan again; if that does not help, report the fault"},
	{"BUDGET_EXCEEDED", ExitBudget, RetryNo, "the budget does not allow the job",
		"lower the guarantees of the releases, or see `ledger raise`"},
	{"BUDGET_FILTER", ExitBudget, RetryNo, "the account adds up in a way that cannot charge this job", "ask for what the account can charge"},
	{"BUDGET_KEPT", ExitBudget, RetryNo, "the job keeps a column that its account does not keep",
		"leave out the design or `immutable: true`, or see `ledger keep`"},
	{"BUDGET_SAME_DATA", ExitBudget, RetryNo, "another account, slice or collected panel was charged for the same data; " +
		"the account is about other slices of it; or a private table is a lookup now",
		"use that account, or mend the table, or see `ledger separate`"},
	{"RUN_REVISED", ExitBudget, RetryLook, "a slice that was released, or measured in a series, holds other data now",
		"find out why; `run --revise` publishes a revision and spends the same again"},
	{"SERIES_ORDER", ExitBudget, RetryNo, "an earlier period of a series was not measured",
		"run the earlier periods first, or `run --catch-up`"},

	{"ENGINE_DIFFERS", ExitPlugin, RetryNo, "a machine of the engine makes another plan, or sees another table",
		"run one version of dprelease-beam everywhere, on the same files"},
	{"ENGINE_FAILED", ExitPlugin, RetryLook, "the engine did not add up every part of the table", "look at the runner's own pages"},
	{"ENGINE_MISSING", ExitPlugin, RetryNo, "the program of the engine is not installed", "install dprelease-beam in the folder of dprelease"},
	{"ENGINE_REFUSED", ExitPlugin, RetryNo, "the engine cannot carry the job out with these options", "mend engine.options"},
	{"ENGINE_SUMS", ExitPlugin, RetryLook, "what the engine's machines added up does not fit together", "report the job: this is a bug"},
	{"PLUGIN_CANCELED", ExitPlugin, RetryYes, "a call of a plugin was given up", "run the job again"},
	{"PLUGIN_CATALOG", ExitPlugin, RetryNo, "a catalog cannot be read, changed or trusted, or a plugin did not get into it",
		"the message says why"},
	{"PLUGIN_CHECKSUM", ExitPlugin, RetryNo, "the executable has another digest than the job says",
		"check where it comes from, then name the new digest"},
	{"PLUGIN_CLOSED", ExitPlugin, RetryLook, "a plugin had ended", "look at the plugin"},
	{"PLUGIN_CRASH", ExitPlugin, RetryLook, "a plugin ended in a call", "look at the plugin"},
	{"PLUGIN_DESCRIPTION", ExitPlugin, RetryNo, "a plugin does not describe the mechanism asked for",
		"mend the plugin, or name another mechanism"},
	{"PLUGIN_FAILED", ExitPlugin, RetryLook, "a mechanism reported a failure", "look at the plugin"},
	{"PLUGIN_KEYS", ExitPlugin, RetryLook, "another plan for the groups or the cap found in private", "mend the plugin"},
	{"PLUGIN_LATTICE", ExitPlugin, RetryLook, "a value off its public lattice", "mend the plugin"},
	{"PLUGIN_NOISE_FAILED", ExitPlugin, RetryLook, "the host could not draw the noise", "look at the plugin's plan"},
	{"PLUGIN_NOISE_MISMATCH", ExitPlugin, RetryLook, "other noise than was planned", "mend the plugin"},
	{"PLUGIN_NONDETERMINISTIC", ExitPlugin, RetryNo, "a plugin answers differently when asked twice", "mend the plugin"},
	{"PLUGIN_NONFINITE", ExitPlugin, RetryLook, "a number that is not finite", "mend the plugin"},
	{"PLUGIN_OVERSIZE", ExitPlugin, RetryNo, "a message or a result is too large", "ask for less in one release"},
	{"PLUGIN_PLAN", ExitPlugin, RetryNo, "a plan that the host cannot carry out", "mend the plugin"},
	{"PLUGIN_PROGRAM", ExitPlugin, RetryNo, "the program of the built-in mechanisms is missing, or of another build",
		"install `dprelease` and `dprelease-mechanisms` of one build in one folder"},
	{"PLUGIN_PROTOCOL", ExitPlugin, RetryNo, "a plugin does not speak the plugin protocol", "build it again with the SDK"},
	{"PLUGIN_REFUSED", ExitPlugin, RetryNo, "a mechanism refuses this release", "change the release"},
	{"PLUGIN_SANDBOX", ExitPlugin, RetryNo, "this machine cannot confine a plugin as the job demands",
		"allow user namespaces and seccomp, or Landlock; if you trust the plugin with all that you may do, say `sandbox: off`"},
	{"PLUGIN_SELF_NOISING", ExitPlugin, RetryNo, "a plugin draws noise of its own", "set `allow_self_noising` if you trust it"},
	{"PLUGIN_SHAPE", ExitPlugin, RetryLook, "a result of another shape than planned", "mend the plugin"},
	{"PLUGIN_START", ExitPlugin, RetryLook, "a plugin did not start", "run `dprelease plugin check` on it"},
	{"PLUGIN_TIMEOUT", ExitPlugin, RetryLook, "a plugin did not answer in time", "raise its `timeout`, or look for a hang"},
	{"PLUGIN_UNCHECKED", ExitPlugin, RetryNo, "`plugin check` could not run its suite", "the message says why"},

	{"KEYS_MANY", ExitSource, RetryNo, "a group column has more values than can be numbered", "group by a coarser column"},
	{"DATA_MISSING", ExitSource, RetryNo, "a column that is declared without missing values holds one",
		"say `missing: drop` or `missing: {impute: VALUE}`"},
	{"DATA_NO_NUMBERS", ExitSource, RetryNo, "most of a column of numbers is text; only `check --data` says so",
		"say `decimal`, `thousands`, `delimiter` or `missing`"},
	{"DATA_OUTSIDE", ExitSource, RetryNo, "a column holds a category outside its domain", "say `outside: drop` or `outside: {impute: VALUE}`"},
	{"DATA_TYPE", ExitSource, RetryNo, "a column cannot be read as its declared type", "mend the job or the table"},
	{"DATA_UNFIT", ExitSource, RetryNo, "`check --data` found something at which a run would fail, or release nothing of use",
		"read what it found; mend the job or the table"},
	{"DATA_UNIT", ExitSource, RetryNo, "a unit has more rows than the job says, or a row has no key that a later wave would know",
		"mend the job or the table"},
	{"SAMPLE_CHANGED", ExitSource, RetryNo, "the table is not the one that a kept sample was drawn from",
		"draw a new sample from the new table"},
	{"SAMPLE_FRAME_MISMATCH", ExitSource, RetryNo, "the rows do not match the public frame", "mend the frame or the table"},
	{"SAMPLE_SIZE_MISMATCH", ExitSource, RetryNo, "the table has another number of rows or units than the job says", "mend `dataset.size`"},
	{"SAMPLE_TOO_FEW_ROWS", ExitSource, RetryNo, "the table has fewer rows than the job promises", "mend `dataset.at_least`"},
	{"SOURCE_CHANGED", ExitSource, RetryLook, "the table changed while it was read", "copy the table to a place where nobody writes"},
	{"SOURCE_CORRUPT", ExitSource, RetryNo, "a file contradicts its format or itself", "write the file again"},
	{"SOURCE_INVALID_ARGUMENT", ExitSource, RetryNo, "the table was asked for something impossible", "report the job: this is a bug"},
	{"SOURCE_LIMIT", ExitSource, RetryNo, "a file needs more memory or time than is allowed",
		"write the file in smaller pieces; the message says which"},
	{"SOURCE_NOT_FOUND", ExitSource, RetryNo, "the path names no file", "mend `dataset.source.path`"},
	{"SOURCE_NO_SUCH_COLUMN", ExitSource, RetryNo, "a column is not in the table, or cannot be used", "mend `dataset.columns`"},
	{"SOURCE_SCHEMA_DIFFERS", ExitSource, RetryNo, "two files of one table disagree", "write the files with one schema"},
	{"SOURCE_DENIED", ExitSource, RetryNo, "the database or the store does not know the user, or a right is missing",
		"give the credentials, or grant the right that the message names"},
	{"SOURCE_TLS", ExitSource, RetryNo, "rows would travel without encryption, or to a server whose certificate is not trusted",
		"mend the certificate or the address"},
	{"SOURCE_UNREACHABLE", ExitSource, RetryYes, "no server answers, or it stopped while it was read", "run the job again when it is back"},
	{"SOURCE_UNREADABLE", ExitSource, RetryNo, "the operating system does not let the table be read", "check the permissions and the disk"},
	{"SOURCE_UNSUPPORTED", ExitSource, RetryNo, "a file may be valid, and dprelease does not read it",
		"write the file in another way; the message says which"},
	{"TEMP_FULL", ExitSource, RetryNo, "units or keys do not fit in memory, and the folder of temporary files has no room",
		"make room there, name another folder (`TMPDIR`), or take a machine with more memory"},
	{"TEMP_UNUSABLE", ExitSource, RetryNo, "units or keys do not fit in memory, and the folder of temporary files cannot be used",
		"check the folder (`TMPDIR`), or take a machine with more memory"},

	{"BUDGET_ACCOUNT", ExitLedger, RetryNo, "an account is not there, or is there already, or its slices are of another kind",
		"see `ledger show`"},
	{"BUDGET_LIMIT", ExitLedger, RetryNo, "a limit cannot be set in this way", "see `ledger raise` and `ledger lower`"},
	{"LEDGER_ADDRESS", ExitLedger, RetryNo, "the address is no ledger's, or the database refuses the user", "mend `budget.ledger`"},
	{"LEDGER_BROKEN", ExitLedger, RetryYes, "an earlier error ended this connection to the ledger", "run the command again"},
	{"LEDGER_CLOCK", ExitLedger, RetryLook, "the machine's clock stands before the last record", "set the clock, or see `ledger clock`"},
	{"LEDGER_FULL", ExitLedger, RetryNo, "the disk of the ledger is full", "make room"},
	{"LEDGER_LOCKED", ExitLedger, RetryYes, "another process kept the ledger locked", "run the command again"},
	{"LEDGER_MISSING", ExitLedger, RetryNo, "there is no ledger at the address", "mend the address, or make one with `ledger init`"},
	{"LEDGER_MOVED", ExitLedger, RetryLook, "the ledger's file was moved or replaced while it was open", "find out who did that"},
	{"LEDGER_OTHER", ExitLedger, RetryLook, "releases of this data set were paid from another ledger", "name that ledger"},
	{"LEDGER_PINNED", ExitLedger, RetryNo, "a kept sample, panel, series or collected table was paid for with other rules of who gets " +
		"which part", "say what the first job says, or begin another one"},
	{"LEDGER_READ_ONLY", ExitLedger, RetryNo, "the ledger cannot be opened or written by this user", "check the permissions"},
	{"LEDGER_REFUSED", ExitLedger, RetryLook, "somebody refused the ledger for good", "see `ledger show`; `ledger refuse --lift` ends that"},
	{"LEDGER_ROLLED_BACK", ExitLedger, RetryLook, "an old copy was put back, records are lost, or a report beside the output is not " +
		"genuine", "put the newest copy back, or move the report away"},
	{"LEDGER_SAMPLE", ExitLedger, RetryNo, "a kept sample is not there, or does not belong to this data set", "see `ledger show`"},
	{"LEDGER_TAMPERED", ExitLedger, RetryLook, "the ledger contradicts itself or is damaged", "see `ledger verify`"},
	{"LEDGER_UNKNOWN", ExitLedger, RetryLook, "a commit failed, and it is not known whether it took place",
		"look with `ledger show`, then run the job again"},
	{"LEDGER_TLS", ExitLedger, RetryNo, "the same of the connection to the ledger", "mend the certificate or the address"},
	{"LEDGER_UNREACHABLE", ExitLedger, RetryYes, "the ledger's server does not answer, or its connection or disk failed",
		"check the address; run the command again when the server is back"},
	{"LEDGER_UNREADABLE", ExitLedger, RetryLook, "the ledger's file or folder cannot be examined or made", "check the folder and the disk"},
	{"LEDGER_UNSAFE", ExitLedger, RetryNo, "the database does not make commits durable", "change its settings; see `docs/ledger.md`"},
	{"LEDGER_VERSION", ExitLedger, RetryNo, "the ledger has a version that this program does not know",
		"use the program that wrote the ledger"},
	{"OUTPUT_TOO_LARGE", ExitLedger, RetryNo, "the releases are too large to be stored", "ask for fewer formats or fewer groups"},
	{"RUN_ELSEWHERE", ExitLedger, RetryYes, "another run of this job is at work", "wait, or raise `--wait`"},
	{"RUN_FENCED", ExitLedger, RetryLook, "the run lost its place to another run of the same job", "look at `ledger show`"},
	{"RUN_OVERTAKEN", ExitLedger, RetryYes, "other jobs used the kept sample meanwhile", "run the job again"},
	{"RUN_RELEASED", ExitLedger, RetryYes, "the same releases are there already", "run the job again, which spends nothing"},
	{"RUN_UNFINISHED", ExitLedger, RetryLook, "an earlier run of this job was cut off after its debit",
		"find out why, then `run --spend-again`, which spends a second time"},

	{"LEDGER_ALTERED", ExitLedger, RetryLook, "files differ from those that were released", "find out who changed them"},
	{"LEDGER_CHAIN", ExitLedger, RetryLook, "a record was changed, left out or put in", "put the newest copy back"},
	{"LEDGER_FORKED", ExitLedger, RetryLook, "a copy of the ledger was used beside it", "find the other copy; add up what both spent"},
	{"LEDGER_OVERSPENT", ExitLedger, RetryLook, "a debit is beyond the limit", "find out how; nothing more should be released"},
	{"LEDGER_RECORD", ExitLedger, RetryLook, "a record says what cannot have happened", "put the newest copy back"},
	{"LEDGER_STORED", ExitLedger, RetryLook, "stored bytes differ from those that were released", "put the newest copy back"},
	{"LEDGER_TABLES", ExitLedger, RetryLook, "the ledger's tables do not follow from its chain", "put the newest copy back"},
	{"LEDGER_UNDEBITED", ExitLedger, RetryLook, "a release has no debit", "find the ledger that paid for it"},

	{"NOT_PUBLISHED", ExitNotPublished, RetryLook, "the output folder could not be written",
		"make room or free the folder; if `retry` says yes, run the job again, which spends nothing"},

	{"INTERRUPTED", ExitInterrupted, RetryYes, "a signal stopped the command", "run the job again"},
}
