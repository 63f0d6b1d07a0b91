package job

import "math/big"

// Assume holds public assumptions about the values of a column. The planner and the
// report use them to forecast the error of sampling; they change no release and no
// guarantee. Nothing in it may come from the private table.
type Assume struct {
	Distribution Shape    // "" where only moments are assumed
	Mean, SD     *big.Rat // moments
	SDBy         []Named[*big.Rat]
	ICC          *big.Rat // intraclass correlation within the units of a design; 0 where absent
	Pilot        string   // a public CSV file, PilotTable
	Column       string   // its column
}

// Strata returns the assumed standard deviations by stratum, nil where there are none.
func (a *Assume) Strata() map[string]float64 {
	if len(a.SDBy) == 0 {
		return nil
	}
	out := map[string]float64{}
	for _, s := range a.SDBy {
		out[s.Name], _ = s.Value.Float64()
	}
	return out
}

// Shape is the form of an assumed distribution.
type Shape string

const (
	// Normal is the normal distribution with the assumed mean and sd.
	Normal Shape = "normal"
	// Lognormal has a normal logarithm, and the assumed mean and sd.
	Lognormal Shape = "lognormal"
	// PilotTable is the values of a public table.
	PilotTable Shape = "pilot"
)
