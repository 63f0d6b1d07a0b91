package report

// Belief names a promise that the guarantee rests on, and that nothing here can check. // P36, P38
type Belief string

// The promises. The first four are about state that several runs share.
const (
	BelievedKeys       Belief = "keys"       // a key means the same unit in the table of each wave
	BelievedWaves      Belief = "waves"      // somebody else allotted the units of a panel as the job says
	BelievedCollection Belief = "collection" // all files of one collection belong to one data set
	BelievedSlices     Belief = "slices"     // no slice repeats rows of another one in other bytes
	BelievedPlugin     Belief = "plugin"     // what a plugin adds up moves by no more than its plan says
)
