package job

// Collected describes how somebody else drew the table from its population (P29).
type Collected struct {
	Sample                    // the method, and what belongs to it; Size is that of the dataset
	Population int64          // srswor
	Sizes      []Named[int64] // of the strata in the population, where a number is taken from each
	Panel      string         // of a rotation: its name
	// Allocation is the rule by which rates and numbers were chosen.
	Allocation Allocation
	// EachSlice says that each slice was drawn by itself, independently of the others (P26).
	EachSlice bool
	// FrameSHA256 is the digest of the population's frame, where the method needs one.
	FrameSHA256 string
}

// Allocation is the rule by which the numbers to take were chosen. The zero value is invalid.
type Allocation string

// The allocations that follow from public facts.
const (
	Proportional Allocation = "proportional"
	Equal        Allocation = "equal"
	FixedBefore  Allocation = "fixed-before"
)
