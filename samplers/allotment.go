package samplers

import (
	"fmt"
	"slices"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/privacy"
)

// Allotment assigns units to the waves of a panel. It draws nothing: who is in which waves
// follows from a secret of the panel and the identifier of the unit.
//
// # Contract
//
// Each unit has one set of waves, drawn by the chances of the panel and independently of all other
// units, whatever table it is in and whatever other units are there. The same secret gives the same
// set in every wave. The secret is 32 random bytes that nobody else knows, and is used for this
// panel alone. A unit must have the same identifier in every wave: with two it is two units.
// Proof: allotment.proof.md.
type Allotment struct {
	panel privacy.Rotation
	wave  int64
	key   noise.Key
	all   uint64 // the weights of all patterns
}

// AllotmentVersion changes with whatever puts a unit into other waves for the same secret.
const AllotmentVersion = "1"

// NewAllotment returns the units in a wave of a panel, the first of which is 1.
func NewAllotment(panel privacy.Rotation, wave int64, secret []byte) (*Allotment, error) {
	if err := privacy.Validate(panel.With(privacy.Pure{Eps: 1})); err != nil {
		return nil, err
	}
	if wave < 1 || wave > panel.Waves {
		return nil, fmt.Errorf("wave: must lie between 1 and %d", panel.Waves)
	}
	var key noise.Key
	if len(secret) != len(key) {
		return nil, fmt.Errorf("the secret of a panel has %d bytes", len(key))
	}
	copy(key[:], secret)
	a := &Allotment{panel: panel, wave: wave, key: key.Derive("panel")}
	for _, p := range panel.Patterns {
		a.all += uint64(max(p.Weight, 1))
	}
	return a, nil
}

// Has reports whether a unit is in the wave.
func (a *Allotment) Has(unit []byte) bool {
	return slices.Contains(a.waves(a.key.SourceOf(unit)), a.wave)
}

// waves draws the waves of one unit.
func (a *Allotment) waves(src *noise.Source) []int64 {
	if a.panel.In == 0 {
		at := src.Uint64n(a.all)
		for _, p := range a.panel.Patterns {
			w := uint64(max(p.Weight, 1))
			if at < w {
				return p.Waves
			}
			at -= w
		}
	}
	// Floyd's algorithm: all sets of In waves, all alike.
	out := make([]int64, 0, a.panel.In)
	for last := a.panel.Waves - a.panel.In + 1; last <= a.panel.Waves; last++ {
		w := 1 + int64(src.Uint64n(uint64(last)))
		if slices.Contains(out, w) {
			w = last
		}
		out = append(out, w)
	}
	return out
}
