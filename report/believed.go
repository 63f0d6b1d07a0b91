package report

// Belief names a promise that the guarantee rests on, and that nothing here can check. // P36, P38
type Belief string

// The promises. All but the last two are about state that several runs share.
const (
	BelievedKeys       Belief = "keys"       // a key means the same unit in the table of each wave
	BelievedCap        Belief = "cap"        // a key means the same unit in each slice of a series that counts it in its first ones alone
	BelievedPeriods    Belief = "periods"    // no unit is in more periods of a series than the job says
	BelievedWaves      Belief = "waves"      // somebody else allotted the units of a panel as the job says
	BelievedCollection Belief = "collection" // all files of one collection belong to one data set
	BelievedSlices     Belief = "slices"     // no slice repeats rows of another one in other bytes
	BelievedLookup     Belief = "lookup"     // everybody may know who is in a lookup
	BelievedPlugin     Belief = "plugin"     // what a plugin adds up moves by no more than its plan says
)

// Beliefs are all promises, in the order in which they are listed.
var Beliefs = []Belief{BelievedKeys, BelievedCap, BelievedPeriods, BelievedWaves, BelievedCollection, BelievedSlices, BelievedLookup,
	BelievedPlugin}
