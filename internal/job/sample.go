package job

import "math/big"

// Method is a sampling method. The zero value is invalid.
type Method string

// The sampling methods.
const (
	Poisson    Method = "poisson"
	SRSWOR     Method = "srswor"
	Multistage Method = "multistage"
	Stratified Method = "stratified"
	Kept       Method = "kept"
	Rotation   Method = "rotation"
)

// Sample is one declared draw. Which fields are set depends on the method.
type Sample struct {
	Name   string
	Method Method
	Rate   *big.Rat          // poisson
	Size   int64             // srswor
	Stages []Stage           // multistage: the last has no unit and takes records
	Strata string            // stratified: the column
	Rates  []Named[*big.Rat] // stratified, Poisson in each stratum
	Takes  []Named[Take]     // stratified, without replacement in each stratum
	BySize *BySize           // stratified, Poisson with a rate for each unit of the frame
	Keep   bool              // store the draw for later jobs
	ID     string            // kept: the draw of an earlier job
	// Of a rotation: a unit is in some of the waves, and this is the one of that number.
	Waves, In, Wave int64
	Patterns        [][]int64 // in the place of In
}

// BySize makes the rate of a unit proportional to the size that the frame says it has.
type BySize struct {
	Expected *big.Rat // how many units of the frame are drawn in the mean, where none reaches Most
	Most     *big.Rat // the largest rate
}

// Stage is one stage of a multistage sample.
type Stage struct {
	Unit    string // the key column, empty at the last stage
	Take    Take
	IfFewer IfFewer
}

// IfFewer is the rule for a unit that holds fewer members than are to be taken. The
// zero value is invalid.
type IfFewer string

const (
	// FewerRefuse refuses the job.
	FewerRefuse IfFewer = "refuse"
	// FewerAll takes all of them.
	FewerAll IfFewer = "all"
)

// Take is a number of units, or all of them.
type Take struct {
	All   bool
	Count int64
}
