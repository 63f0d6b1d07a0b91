package marginals

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"sync"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/marginals/residual"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// layout describes the vector of a release, which follows from public facts alone. The vector holds
// the residuals one after another, each multiplied by a whole number of its own. Noise of one size
// on the whole vector is then noise of the planned size on each residual.
type layout struct {
	*family
	*residual.Workload
	public  bool // the total is public
	total   float64
	rows    float64 // the most rows of one unit
	weigh   linear.Weights
	lattice linear.Lattice
	scale   []int64 // the number that multiplies each residual; 0: it is not measured
	start   []int   // where each residual begins in the vector
	size    int
	moves   sdk.Reach
}

// layouts keeps the last layout, because a host asks for the same plan several times and then for
// its release.
var layouts struct {
	sync.Mutex
	key  string
	last *layout
}

func layoutOf(req sdk.PlanRequest) (*layout, error) {
	about, err := json.Marshal(req.Public)
	if err != nil {
		return nil, err
	}
	key := string(req.Params) + string(about)
	layouts.Lock()
	defer layouts.Unlock()
	if layouts.key == key {
		return layouts.last, nil
	}
	l, err := newLayout(req)
	if err == nil {
		layouts.key, layouts.last = key, l
	}
	return l, err
}

func newLayout(req sdk.PlanRequest) (*layout, error) {
	f, err := parse(req.Params, req.Public)
	if err != nil {
		return nil, err
	}
	l := &layout{family: f, rows: 1}
	var columns []sdk.Column
	var attributes []residual.Attribute
	for _, d := range f.dimensions {
		columns, attributes = append(columns, d.column), append(attributes, d.attribute)
	}
	units := linear.Cells{N: 1}.Units(req.Public, columns...)
	l.rows = float64(units.Rows)
	if req.Public.Relation == privacy.ReplaceOne && req.Public.Population > 0 && !units.Leaves {
		l.public, l.total = true, float64(req.Public.Population)
	}
	l.Workload = &residual.Workload{Attributes: attributes}
	if err := l.few(f.tables); err != nil { // before anything is made of them
		return nil, err
	}
	l.Workload = residual.NewWorkload(attributes, f.tables, l.public)
	if err := l.few(l.Residuals); err != nil {
		return nil, err
	}
	var known bool
	if l.weigh, known = linear.WeightsOf(req.Public.Design); !known {
		return nil, linear.ErrScale
	}
	if l.Finish == "whole" {
		if err := l.joint(); err != nil {
			return nil, err
		}
	}
	if err := l.steps(l.solve(), linear.MostRows(req.Public)); err != nil {
		return nil, err
	}
	l.moves = l.reach()
	return l, nil
}

// few fails if the tables have more cells than a release may have.
func (l *layout) few(tables []residual.Table) error {
	total := 0
	for _, t := range tables {
		if total += l.Cells(t); total > mostNumbers {
			return fmt.Errorf("columns: the tables have more than %d cells; take fewer columns, fewer ways or coarser values", mostNumbers)
		}
	}
	return nil
}

// solve finds the variances of the residuals for a cost of 1.
func (l *layout) solve() []float64 {
	weights := l.weights
	switch l.Objective {
	case "every-cell":
		weights = nil
		for i, t := range l.Tables {
			weights = append(weights, l.weights[i]*float64(l.Cells(t)))
		}
		fallthrough
	case "every-marginal":
		return l.Alike(weights)
	}
	sigma, _ := l.LeastLargest(weights)
	return sigma
}

const (
	// weightSteps is the number of steps in the largest weight, where weights differ.
	weightSteps = 1 << 14
	// mostSteps bounds the sensitivity in steps, so that the noise can be drawn. Room bounds the
	// sum of all rows.
	mostSteps = 1 << 38
	room      = 1 << 61
)

// steps chooses the numbers that multiply the residuals, as large as the sum of all rows allows, so
// that rounding hardly changes the ratios of the variances.
func (l *layout) steps(sigma []float64, rows float64) error {
	most := 1.0 // steps of the largest weight
	step := 1.0
	if l.weigh.Most != 1 || l.weigh.Least != 1 {
		most = weightSteps
		step = l.weigh.Most / weightSteps
	}
	l.lattice = linear.NewLattice(0, step, l.weigh.Least, l.weigh.Most)
	reach := 0.0 // of a row, where the sensitivity is 1
	for i, s := range sigma {
		if l.Measured(i) {
			reach = math.Max(reach, math.Sqrt(l.Cost(i)/s))
		}
	}
	if reach == 0 {
		return errors.New("columns: no table has anything in it that is not public")
	}
	kappa := math.Min(room/(rows*most*reach), mostSteps/most)
	l.scale, l.start = make([]int64, len(sigma)), make([]int, len(sigma))
	for i, r := range l.Residuals {
		l.start[i] = l.size
		if !l.Measured(i) {
			continue
		}
		c := math.Round(kappa / (math.Sqrt(sigma[i]) * l.Unit(i)))
		if c < 16 {
			return errors.New("columns: some table has too many cells for the number of rows that may come; take coarser values")
		}
		l.scale[i] = int64(c)
		l.size += l.Cells(r)
	}
	return nil
}

// reach returns how far one row moves the vector.
//
// # Contract
//
// A row has one node of every attribute, with a weight that the lattice holds to its
// bounds, and adds the contrasts of its cell to every residual. Proof: marginals.proof.md.
func (l *layout) reach() sdk.Reach {
	_, t := l.lattice.Ends(1, 1)
	weight := new(big.Int).Mul(big.NewInt(t), big.NewInt(t))
	come, sides := new(big.Int), new(big.Int)
	squares := make([]float64, len(l.scale))
	for i, c := range l.scale {
		if c == 0 {
			continue
		}
		square, side := l.Norms(i)
		square.Mul(square, big.NewInt(c)).Mul(square, big.NewInt(c))
		come.Add(come, square)
		sides.Add(sides, side.Mul(side, big.NewInt(c)))
		squares[i], _ = new(big.Float).SetInt(square).Float64()
	}
	stay := l.Apart(squares, come)
	if l.weigh.Least != l.weigh.Most && stay.Cmp(come) < 0 {
		stay.Set(come)
	}
	come.Mul(come, weight)
	stay.Mul(stay, weight)
	sides.Mul(sides, big.NewInt(t))
	return sdk.Reach{
		Parts: l.size, Touch: l.size,
		Arrive:  sdk.Norms{L1: sides, Square: come},
		Replace: sdk.Norms{L1: new(big.Int).Lsh(sides, 1), Square: stay},
	}
}
