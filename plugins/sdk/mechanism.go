package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"github.com/dprelease/dprelease/privacy"
)

// Mechanism is one private mechanism. Describe and Plan must be deterministic
// and must not read anything but their arguments; the host asks twice and
// refuses a mechanism that answers differently.
type Mechanism interface {
	// Describe returns the mechanism's name, parameters and abilities.
	Describe() Description
	// Plan returns the reads, the costs and the shape of a release. It sees no data.
	Plan(req PlanRequest) (Plan, error)
	// Release reads the rows once, computes the query, and has the host add the
	// noise, in the order of the plan's event. A mechanism that a program brings along
	// makes several releases at a time, so nothing of one may be kept for another.
	Release(ctx context.Context, req ReleaseRequest, rows Rows, host Host) (Result, error)
}

// Description is the constant part of a mechanism.
type Description struct {
	Name string
	// Version changes whenever a release of the same job would.
	Version string
	Summary string
	// Params is the JSON Schema (2020-12) of the parameters.
	Params json.RawMessage
	// Relations are the relations under which Plan's event holds on the sample.
	Relations []privacy.Relation
	// Designs are the kinds of sample the mechanism can use: some of EveryDesign.
	Designs []string
	// SelfNoising says that the mechanism draws noise of its own. Such a plugin
	// must be allowed by name in the job and is marked in the report.
	SelfNoising bool
	// Grouped says that the mechanism takes a parameter "by": the name of a category
	// column, for which it releases all groups at once. The result then has a column of
	// strings with the groups (Plan.GroupField). A column with a single group is a
	// filter: rows that do not pass have the code -1. The host runs any other mechanism
	// group by group.
	Grouped bool
	// Capped says that Plan's event holds for units that have as many rows as
	// Public.Cap says (P22). The host refuses any other mechanism for such units.
	Capped bool
	// Linear says that each noise call, an AddLaplace or an AddGaussian, gets a sum of
	// vectors of whole numbers, one for each row, that depends on that row alone. What a
	// row, or two, can add to it must stay within the declared sensitivity, so the
	// conformance suite checks single rows. The interval of a multistage sample is the one exception:
	// it adds products of the totals of first-stage units, for which plugins/linear has a proof.
	Linear bool
	// Weighted says that the mechanism uses the weights of a survey: Plan's event holds where a
	// neighbour changes the weight of a row too, between Design.MinWeight and MaxWeight (P29). The
	// host refuses any other mechanism for such rows.
	Weighted bool
	// DeclaresFinish says that the mechanism is linear and that each of its plans has a Finish.
	// The host then computes the result, and the job's report calls it "apart".
	DeclaresFinish bool
	// DeclaresQuery says that each plan of the mechanism has Queries, and a Finish. The host then makes the
	// release, and the job's report calls it "enforced". Whole says what such a mechanism need not say.
	DeclaresQuery bool

	_ struct{}
}

// EveryDesign returns all kinds of sample, for a mechanism whose claims rest on the relations
// between samples and on the bounds of weights alone.
func EveryDesign() []string {
	return []string{"full", "poisson", "srswor", "multistage", "stratified", "collected"}
}

// PlanRequest is all that a plan may depend on.
type PlanRequest struct {
	// Params are the job's parameters, already valid against Description.Params.
	Params json.RawMessage
	Public Public
	// Target is the amount that this release may spend on the sample.
	Target privacy.Point
	// InRho says that the job states its guarantee in rho (zCDP). The host then asks for plans at
	// several points, and Target is one of them. Of two plans that meet Target, the one with less
	// noise at the same rho is better for the job.
	InRho bool

	_ struct{}
}

// Public holds the facts that anyone may know about the table and the draw.
type Public struct {
	// Relation is the relation of the guarantee on the population.
	Relation privacy.Relation
	// SampleRelations are the relations under which the plan's event must meet
	// Target on the sample (a fixed-size sample needs replace-one, whatever
	// Relation is).
	SampleRelations []privacy.Relation
	// Population is the public number of units, 0 where it is secret.
	Population int64
	Design     Design
	// Columns are all columns that the job declares.
	Columns []Column
	// Cap bounds the rows of one unit, nil where a row is a unit. Sample relations,
	// rates and weights are then those of units.
	Cap *Cap

	_ struct{}
}

// Cap says that a unit has rows in at most Groups groups of the column that the
// parameter "by" names, and at most Rows in each; without "by", at most Rows in all.
//
// Where Times is above 1, each row counts as so many rows: a mechanism plans its noise as for Rows × Times rows in a group,
// adds up each row so many times, has the noise added, and only then divides by Times. So its event depends on the product
// alone, and the host may find Rows in private after the event was paid for (P22). 0 stands for 1.
type Cap struct {
	Groups, Rows, Times int64

	_ struct{}
}

// Each returns how many rows each row counts as; 1 without a cap.
func (c *Cap) Each() int64 {
	if c == nil {
		return 1
	}
	return max(c.Times, 1)
}

// Check returns what is wrong with a cap, or nil; no cap is right.
func (c *Cap) Check() error {
	const most = 1 << 32 // of either
	if c != nil && (c.Groups < 1 || c.Rows < 1 || c.Times < 0 || c.Groups > most || c.Rows > most || c.Rows > most/c.Each()) {
		return errors.New("cap: groups, and rows times times, must be between 1 and 2^32")
	}
	return nil
}

// Column returns the declared column of that name.
func (p Public) Column(name string) (Column, bool) {
	for _, c := range p.Columns {
		if c.Name == name {
			return c, true
		}
	}
	return Column{}, false
}

// Design is the public side of the draw.
type Design struct {
	Kind string
	// Rate is the expected inclusion probability where it is the same for all
	// rows, else 0.
	Rate float64
	// SampleSize is the fixed, public size of the sample, 0 where it is random.
	SampleSize int64
	// MinWeight and MaxWeight bound the design weights 1/π.
	MinWeight, MaxWeight float64
	EqualWeights         bool
	// LargestCount bounds the rows a draw can hold, 0 where nothing is known.
	LargestCount int64

	_ struct{}
}

// ColumnType is the form in which a column's values reach the mechanism.
type ColumnType string

const (
	// Number is a column of float64, clipped by the host to [Lower, Upper].
	Number ColumnType = "number"
	// Category is a column of codes into the declared public Domain.
	Category ColumnType = "category"
)

// Missing is the rule for null and NaN.
type Missing string

const (
	// MissingRefuse asserts that there are none; one that is met is an error.
	MissingRefuse Missing = "refuse"
	// MissingDrop hands them to the mechanism as invalid.
	MissingDrop Missing = "drop"
	// MissingImpute replaces them by a public value before the mechanism sees them.
	MissingImpute Missing = "impute"
)

// Column is one declared column.
type Column struct {
	Name         string
	Type         ColumnType
	Lower, Upper float64
	Missing      Missing
	Domain       []string
	// Immutable says that the column is public and that a neighbour cannot change it (P11).
	// Where values may be missing (MissingDrop) a neighbour has the same value, or one of the
	// two has none: a filter lets the row through on one side only.
	Immutable bool

	_ struct{}
}

// Plan is the promise of a release before any row is read: its reads, its costs and its shape.
type Plan struct {
	// Columns are the names of the columns that Release will read, in order.
	Columns []string
	// Event is the event that the noise calls of a release make up on the sample. Its
	// leaves, read from left to right with every repeat unrolled, are the calls.
	Event privacy.Event
	// Output is the shape of the result.
	Output []Field
	// Rows is the number of rows of the result.
	Rows int64
	// Errors are the expected errors that are public.
	Errors []ExpectedError
	// Finish, where given, says how the result follows from the noisy sums. See Finish.
	Finish *Finish
	// Queries, where given, say what each row adds to the noisy sums: one for each entry of
	// Finish.Noise. See Query. The host then finds Columns and Event, and adds to Errors.
	Queries []Query
	// Noise is the kind of noise of the queries, Laplace or Gaussian, or "" for the smaller one.
	Noise string

	_ struct{}
}

// Estimates returns what the first value with an expected error estimates, or "".
func (p Plan) Estimates() Statistic {
	if len(p.Errors) == 0 {
		return ""
	}
	at := slices.IndexFunc(p.Output, func(f Field) bool { return f.Name == p.Errors[0].Field })
	if at < 0 {
		return ""
	}
	return p.Output[at].Statistic
}

// GroupField is the index of the output column that holds the groups of the column by:
// the first column of strings that has its name, or else the name "group". It is -1 where
// there is none.
func (p Plan) GroupField(by string) int {
	for _, name := range []string{by, "group"} {
		at := slices.IndexFunc(p.Output, func(f Field) bool { return f.Type == String && f.Name == name })
		if at >= 0 {
			return at
		}
	}
	return -1
}

// Field is one column of the result.
type Field struct {
	Name string
	Type FieldType
	// Granularity, where positive, is the public lattice that every value of a
	// float64 column lies on.
	Granularity float64
	// Low and High, where they differ, are the public range of a column of numbers, and
	// Texts, where there are any, are all that a column of strings may hold. The host
	// brings the result of a plugin that is not linear into them.
	Low, High float64
	Texts     []string
	Doc       string
	// Value, in a plan with a Finish, is the expression that computes this column.
	Value string
	// Of and Per give the unit of a column of numbers: the product of the units of the table's
	// columns in Of, divided by those of the columns in Per. If a table column and its bounds are
	// multiplied by a constant, the values of this column change accordingly. A mechanism must set
	// them to read a column whose bounds are found in private.
	Of, Per []string
	// Statistic is the quantity that a column of numbers estimates, "" where it is none of the known ones. The
	// host forecasts errors by it, and charges nothing by it.
	Statistic Statistic

	_ struct{}
}

// Statistic is the quantity that a released number estimates, in each of its groups.
type Statistic string

// The known statistics. A count is of rows, and a share is the part of them that has a property.
const (
	StatisticCount    Statistic = "count"
	StatisticTotal    Statistic = "total"
	StatisticMean     Statistic = "mean"
	StatisticShare    Statistic = "share"
	StatisticQuantile Statistic = "quantile"
	StatisticVariance Statistic = "variance"
	StatisticSD       Statistic = "sd"
)

// Known reports whether s is a known statistic, or none.
func (s Statistic) Known() bool {
	return slices.Contains([]Statistic{"", StatisticCount, StatisticTotal, StatisticMean, StatisticShare, StatisticQuantile,
		StatisticVariance, StatisticSD}, s)
}

// Nearest returns the value nearest to a finite x that the range and the granularity of a column
// of numbers allow.
func (f Field) Nearest(x float64) float64 {
	if f.Low < f.High {
		x = math.Max(f.Low, math.Min(f.High, x))
	}
	if f.Granularity == 0 {
		return x
	}
	k := math.RoundToEven(x / f.Granularity)
	if f.Low < f.High { // the bounds need not lie on the grid
		k = math.Max(math.Ceil(f.Low/f.Granularity), math.Min(math.Floor(f.High/f.Granularity), k))
	}
	return k * f.Granularity
}

// FieldType is the type of a result column.
type FieldType string

// The types of a result column.
const (
	Float64 FieldType = "float64"
	Int64   FieldType = "int64"
	String  FieldType = "string"
)

// ExpectedError holds the facts known about the noise in one output column before
// any data is read.
type ExpectedError struct {
	Field string
	// NoiseSD is the standard deviation of the noise in the released value.
	NoiseSD float64
	// Half95 is half the width of the 95 % interval of the noise alone.
	Half95 float64
	// Note is a remark for people. One that begins with NoUse is shown before all else.
	Note string
	// Linear, where given, is what the value is without its noise: the host derives
	// from it how far drawing the sample can move the value.
	Linear *Linear
	// SamplingNote, where Linear is nil, says why that is not public.
	SamplingNote string
	// Unsure is the variance that an interval for the population's value adds, because it
	// knows the variance of the draw only with noise; 0 without an interval.
	Unsure float64
	// Over, of a quotient, is the sum by which it is divided, with its own noise. The host derives
	// from it how likely an interval is without two ends. Where Linear is given too, the value without its noise is
	// c + the sum of Linear over that of Over, whose mean over the draws is 1.
	Over *Term
	// Above, of a quotient whose lower sum is secret, is the sum above the line, which gives the value less a public constant, or its
	// square where the value is a standard deviation. Its noise is independent of that of Over. The host forecasts an error from both.
	// A quantile gives both of its rank: the share of rows below it, less the share that was asked for. See RankTerms.
	Above *Term

	_ struct{}
}

// RankTerms are Above and Over of a quantile q of a column, whose rank the noise moves by that standard deviation and that half of a
// 95 % interval. Both are in rows of the sample, or where weights are unlike of the population, and hold where values lie densely.
// They are nil where these are no finite numbers: of a sample of which nobody knows what a row stands for.
func RankTerms(column string, q, noiseSD, half95 float64) (above, over *Term) {
	if x := noiseSD + half95; !(x >= 0) || math.IsInf(x, 1) {
		return nil, nil
	}
	return &Term{NoiseSD: noiseSD, Half95: half95, Linear: Linear{Low: -q, High: 1 - q, Scale: 1, Adds: column}},
		&Term{Linear: Linear{Low: 1, High: 1, Scale: 1}}
}

// Ratio reports whether the value is a quotient of two sums, of which the one below the line is public on average over the draws.
func (e ExpectedError) Ratio() bool { return e.Linear != nil && e.Over != nil }

// PerRow is the standard deviation of the noise in a value that is divided by a number of rows, times that number: at most and to
// the first order. It is 0 of any other value.
func (e ExpectedError) PerRow() float64 {
	if e.Above == nil || e.Over == nil || e.Over.Linear.Adds != "" {
		return 0
	}
	return math.Hypot(e.Above.NoiseSD, e.Over.NoiseSD*math.Max(math.Abs(e.Above.Linear.Low), math.Abs(e.Above.Linear.High)))
}

// Term is one of the two sums of a quotient. Its fields are those of an ExpectedError.
type Term struct {
	NoiseSD, Half95, Unsure float64
	Linear                  Linear

	_ struct{}
}

// Times returns the term with so many times the noise, nil for none.
func (t *Term) Times(x float64) *Term {
	if t == nil {
		return nil
	}
	out := *t
	out.NoiseSD, out.Half95 = x*t.NoiseSD, x*t.Half95
	return &out
}

// NoUse begins the note of a value that tells nothing, because its noise is larger than the whole
// range in which it can lie. Where NoiseSD and Linear are given, the host finds that out itself.
const NoUse = "no use: "

// Linear says that a released value without its noise is c + Scale·Σ w·z over the rows of the
// sample. Here w is the weight of the row, or 1 where the design has equal weights; z lies between
// Low and High and depends on that row alone; c is public. It must hold in every table. A count is
// linear, and so is a mean of a public number of rows. A ratio of two sums and an order statistic
// are not.
type Linear struct {
	// Column, where not "", is the number column whose value z is, up to a
	// public constant, in every row.
	Column    string
	Low, High float64
	Scale     float64
	// Adds, where not "", is the number column whose values z adds up, or the squares of their distances from the mean in
	// a variance, in the rows that count in the value; in Above of a quantile, the column that it is of. The host forecasts the
	// value's size from what the job assumes of that column.
	Adds string

	_ struct{}
}

// ReleaseRequest is the plan that was made, and the request that it was made from.
type ReleaseRequest struct {
	PlanRequest
	Plan Plan

	_ struct{}
}
