package median

import (
	"math"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// weightSteps is the number of steps in the largest weight, where weights differ.
const weightSteps = 1 << 12

// grid is the public lattice of the exponential method: points 0..points−1 spread
// evenly over [lower, upper].
type grid struct {
	lower, width float64
	points       int64
	largest      int64 // the lattice weight of the heaviest record
	perWeight    float64
}

func newGrid(c sdk.Column, points int64, maxWeight float64) grid {
	g := grid{lower: c.Lower, width: c.Upper - c.Lower, points: points, largest: 1, perWeight: 1}
	if maxWeight > 1 {
		g.largest, g.perWeight = weightSteps, weightSteps/maxWeight
	}
	return g
}

// nearest is the point that a value is rounded to. It depends on that value alone.
func (g grid) nearest(y float64) int64 {
	j := int64(math.RoundToEven((y - g.lower) / g.width * float64(g.points-1)))
	return max(0, min(g.points-1, j))
}

// value is the number that a point stands for.
func (g grid) value(j int64) float64 {
	if j >= g.points-1 {
		return g.lower + g.width
	}
	return g.lower + g.width*(float64(j)/float64(g.points-1))
}

// weigh rounds a design weight to steps; at most largest.
func (g grid) weigh(w float64) int64 {
	if g.largest == 1 {
		return 1
	}
	return max(0, min(g.largest, int64(math.RoundToEven(w*g.perWeight))))
}

// sensitivity returns how far the score of any point moves between neighbours
// (exponential.proof.md): a record of weight w adds −pw or (1−p)w to each of the two
// sums that make up a score. Scores count 1/den of a weight step.
func (g grid) sensitivity(r rank, under []privacy.Relation) int64 {
	s := g.largest * max(r.num, r.den-r.num)
	for _, rel := range under {
		if rel != privacy.AddRemove {
			s = g.largest * r.den
		}
	}
	return s
}

// pieces scores every point: how much more weight lies below it, or above it, than
// the rank allows; 0 for a quantile. counts holds the weight on each point.
//
// # Contract
//
// With A the weight below the point, B the weight above it and W all weight, the
// score is max(den·A − num·W, den·B − (den−num)·W, 0). Between neighbours it moves
// by at most grid.sensitivity. Proof: exponential.proof.md.
func (r rank) pieces(counts []int64) []sdk.Piece {
	var all, below int64
	for _, c := range counts {
		all += c
	}
	var out []sdk.Piece
	for j, c := range counts {
		above := all - below - c
		score := max(r.den*below-r.num*all, r.den*above-(r.den-r.num)*all, 0)
		if n := len(out); n > 0 && out[n-1].Score == score {
			out[n-1].Hi = int64(j)
		} else {
			out = append(out, sdk.Piece{Lo: int64(j), Hi: int64(j), Score: score})
		}
		below += c
	}
	return out
}
