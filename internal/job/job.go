package job

import (
	"encoding/json"
	"math/big"
	"slices"
	"time"

	"github.com/dprelease/dprelease/privacy"
)

// All is the value of a release's From that stands for the whole table.
const All = "all"

// UnitRow says that one row is one unit of privacy.
const UnitRow = "row"

// Job is one job file, read. Environment variables are already substituted, and
// paths are already joined to Dir; only the address of the ledger is as written.
type Job struct {
	Version  int
	Name     string
	Dataset  Dataset
	Budget   Budget
	Samples  []Sample // in the order of the file
	Series   []Series
	Releases []Release
	Plugins  []Plugin
	// Catalog is the file of the plugins that somebody approved, "" where there is none.
	Catalog string
	// Sandbox is the confinement of mechanisms: one of Sandboxes.
	Sandbox string
	Output  Output
	Engine  Engine // what carries the scans out
	// Publication holds the words of the report about itself, nil where the job has none.
	Publication *Publication
	// Lineage names the table in events about a run; "" for its path.
	Lineage string
	// Variables are the declared variables with their values, which are replaced already.
	Variables []Variable

	File string // the job file, as it was named
	Dir  string // the folder of the job file

	pos  map[string]Pos
	pack Packed
	in   Language
}

// Dataset holds the public facts about the table.
type Dataset struct {
	ID       string // the budget account
	Source   Source
	Relation privacy.Relation
	Size     int64 // public number of units, 0 under add-remove
	AtLeast  int64 // public lower bound on the number of units under add-remove, 0 where none is known
	// Unit is the unit of privacy as the ledger's account names it. A unit that has one
	// row is a row: its account is that of the rows, whatever people call it.
	Unit string
	// Called holds the job's words for a unit, "" where it has none. They are a promise only
	// where Key has a column.
	Called UnitWords
	Key    Unit

	// Columns are those of the file in the order of the job, then those of lookups, then
	// those that are derived.
	Columns []Column
	Lookups []Lookup
	// Fold names the fold of each column of a unit's rows (P22); the bounds and the domain of the column hold for the folded
	// value, too. It is empty where a unit has one row.
	Fold   []Named[FoldBy]
	Cap    *Cap     // how many of its rows count, nil where a unit has one row
	Slice  *Slice   // nil where the job means the whole table
	Derive []Column // those that are derived, before they take their places
	// Tables are several private tables that are joined by the unit (P32), none where the data set is one table. Population
	// is the one of which each unit has a row; "" stands for all units of all tables.
	Tables     []DataTable
	Population string
	// Table is the table that the job is seen from (Job.Of), "" where there is one; OneRow says that a unit has at most one
	// row in it, and Fold follows from that.
	Table  string
	OneRow bool
	// Frame is the public list of units that multistage and stratified samples
	// draw from, nil where there is none.
	Frame *Frame
	// Collected says that the table is itself a sample, nil where it is not.
	Collected *Collected
	// Weights are survey weights, nil where each row stands for itself.
	Weights *Weights
}

// Unit assigns each row to a unit of privacy. Without a column each row is one.
type Unit struct {
	Column string // holds the same value in all rows of a unit
	UnitWords
	Rows    int64  // how many rows a unit has: 1, or 0 where they are folded or capped
	Missing NoUnit // what becomes of a row without a unit
	// Member is the column of a table whose rows name a member of a unit, and not the unit itself; it is then Column, too.
	Member string
	// Members and Groups are whoever else the report says the price for. Groups are several units that belong together,
	// such as the persons of a household, and how many they are at most.
	Members *Members
	Groups  []Named[int64]
}

// Own returns the column that names the unit itself in each row, and false where there is none: a table whose rows name a
// member of the unit has none.
func (u Unit) Own() (column string, ok bool) { return u.Column, u.Column != "" && u.Member == "" }

// UnitWords are the words for one unit and for several: Plural is "" where it is Name with an s.
type UnitWords struct{ Name, Plural string }

// Members says that each row of a table is a member of its unit, such as a person of a household.
type Members struct {
	Name   string
	Table  string // one of several tables, "" where there is one
	Column string // names the member, "" where no other table says whose member a row is
}

// Source is the place of the table: files, a snapshot of an Iceberg table, or a database.
type Source struct {
	Path string // a file, a directory or a glob; "" for a database
	// Delimiter and Missing are for CSV files: what stands between two fields, 0 where the
	// job does not say, and which texts stand for a missing value, nil for the empty one.
	Delimiter rune
	Missing   []string
	// Encoding, Decimal, Thousands and Dates say how a CSV file writes text, numbers and days; "" for the plain way.
	Encoding, Decimal, Thousands, Dates string
	// Snapshot is the snapshot of the Iceberg table at Path, 0 for plain files.
	Snapshot int64
	// Postgres is the address of a database, empty for files; Table or Query says what is
	// read there.
	Postgres     Secret
	Table, Query string
}

// ColumnType says whether a column holds numbers or categories. The zero value is
// invalid.
type ColumnType string

const (
	// Number is a column with public bounds.
	Number ColumnType = "number"
	// Category is a column with a public domain.
	Category ColumnType = "category"
	// Text, Bool, Date and Timestamp are columns that only expressions read.
	Text      ColumnType = "text"
	Bool      ColumnType = "bool"
	Date      ColumnType = "date"
	Timestamp ColumnType = "timestamp"
)

// Column holds the public facts about one column.
type Column struct {
	Name         string
	Type         ColumnType
	Holds        ColumnType // as declared by type, "" where bounds or a domain say it
	Lower, Upper *big.Rat   // of a Number
	Domain       []string   // of a Category
	Missing      Handling   // null and NaN
	Outside      Handling   // values of a Category that are not in its domain
	// Immutable says that the column is public and that a neighbour cannot
	// change it (P11).
	Immutable bool
	// Assume is for the planner and the report's forecast, nil where nothing is
	// assumed.
	Assume *Assume
	// Bounds directs the private search for the bounds, nil where they are public. Lower and
	// Upper are then those between which the search looks.
	Bounds *Bounds
	// Measure pays for the shares of values at Lower and at Upper, nil for none.
	Measure *Measure
	Binds   Binds // of Lower and Upper
	// OnePerUnit says that all rows of a unit have the same value.
	OnePerUnit bool

	Derived *Derived // nil where the column stands in a file
	Lookup  *Lookup  // the public table that adds it, nil where none does
	Joined  *Joined  // how it comes from another private table, nil where it does not
	Heading string   // of the column in that table, "" where it is the name
}

// Plain reports whether only expressions and folds can read the column: nothing public
// is said of its values.
func (c *Column) Plain() bool {
	return c.Type != Category && c.Lower == nil
}

// Numeric reports whether the column holds numbers.
func (c *Column) Numeric() bool { return c.Type == Number || c.Holds == Number || c.Lower != nil }

// Flag reports whether the column holds true and false.
func (c *Column) Flag() bool { return slices.Equal(c.Domain, []string{"false", "true"}) }

// Rule is the fate of a value that cannot be used. The zero value is
// invalid.
type Rule string

const (
	// Refuse asserts that there is no such value: one that is met is an error.
	Refuse Rule = "refuse"
	// Drop leaves the value out.
	Drop Rule = "drop"
	// Impute replaces the value by a public one.
	Impute Rule = "impute"
)

// Handling is a rule, and for Impute the value: Number in a column of numbers,
// Text in a column of categories.
type Handling struct {
	Rule   Rule
	Number *big.Rat
	Text   string
}

// Frame names the public list of ultimate units: a CSV file with one line a
// unit, the key columns, and a column with the unit's number of records.
type Frame struct {
	Path    string
	Records string
}

// Budget is the account that the job spends from.
type Budget struct {
	Ledger Secret    // as the job writes it, empty where the job names none
	Limit  Guarantee // of each slice, where the job names one
	// Lifetime is the limit of all slices together, for a unit through its life (P26); nil
	// for none.
	Lifetime *Guarantee
	// Spend is the budget of all releases together. A part of it goes to the releases without
	// a guarantee of their own. It is nil if every release has its own.
	Spend *Guarantee
}

// Release is one thing to publish.
type Release struct {
	Name     string
	From     string     // a sample's name, or Table
	Table    string     // whose rows it counts, where the data set has several; "" where it has one
	Series   string     // the name of its series, "" for none
	Where    Expression // a condition on a row
	Having   Expression // a condition on the folded values of a unit
	By       []string
	Other    string // what the cell of rows in no other cell is called, "" where there is none
	Keys     *Keys  // how the values of a group column are found, nil where all are listed
	Cap      *Cap   // what it says in the place of its table's cap, zero where it says nothing; nil where it says nothing at all
	Suppress *Suppress
	// Interval is the level, of 100, of an interval for the population's value; nil for none.
	Interval *big.Rat
	// AssumeShare is the assumed value of a share; nil for none.
	AssumeShare *big.Rat
	Weights     string // NoWeights, or "" for those of the data set
	Mechanism   string
	// Params is the params mapping as a JSON object; "{}" where none is given.
	Params    json.RawMessage
	Guarantee Guarantee // the target on the population
	// Shares says that Guarantee is a share of Budget.Spend, which planning divides so that
	// the relative error of a release of weight 2 is half of that of weight 1.
	Shares bool
	Weight *big.Rat
	// Bounds is the column whose bounds the release finds for others; "" for all that the
	// job lists.
	Bounds string
	// Measures is the key of the measure that pays for the release; "" for all that the job lists.
	Measures string
}

// Plugin is a third-party mechanism.
type Plugin struct {
	Name             string
	Path             string
	SHA256           string            // 64 hex digits in lower case
	Files            map[string]string // of a catalog: the digests of what lies beside the executable
	AllowSelfNoising bool
	Timeout          time.Duration
	Reads            []string // files and folders that its processes may read
	Memory           int64    // bytes that each of its processes may hold; 0: the host's default
	// Approval is its entry in a catalog, nil where the job names the file itself.
	Approval *Approval
}

// Approval limits an approved plugin to what was approved.
type Approval struct {
	Mechanism   string   // the mechanism of the plugin that was approved
	Description string   // the digest of what it says it is
	Names       []string // what the columns of its results may be called
	Texts       []string // its other words that may reach a report
}

// Publication holds the words of a report.
type Publication struct {
	Title, Publisher, Period, Contact, Language string
	Notes                                       []string
	Labels                                      []Named[string] // what readers call what has another name in the files
	// The rest is for the registry of deployments: what only a person knows.
	Published, IntendedUse, Region, Sector string
	Sources                                []string
	Justification                          string
}

// Output is the destination of the releases.
type Output struct {
	Dir       string
	Formats   []string
	PublishAt string // a time of day such as 06:00, or ""
}
