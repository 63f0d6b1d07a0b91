package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"unicode/utf8"
)

// What may be wrong with a result. The texts are fixed: a result comes from data.
var (
	// ErrShape says that a result's columns, types or rows are not the plan's.
	ErrShape = errors.New("result does not have the planned shape")
	// ErrNonFinite says that a result holds an infinity, or NaN in a row without a flag.
	ErrNonFinite = errors.New("result holds a number that is not finite")
	// ErrLattice says that a value is off its column's public lattice, or a text is not on
	// its column's public list.
	ErrLattice = errors.New("result holds a value off the planned lattice")
)

// MaxString is the longest string that a result may hold, in bytes.
const MaxString = 1024

// Check returns what is wrong with a description, or nil.
func (d Description) Check() error {
	if !named(d.Name) {
		return fmt.Errorf("description: name must be a lower-case word of at most 64 characters")
	}
	if d.Version == "" || len(d.Version) > 64 || len(d.Summary) > 1024 || !utf8.ValidString(d.Version+d.Summary) {
		return fmt.Errorf("description: the version is missing, or the version or the summary is too long or not text")
	}
	if len(d.Relations) == 0 || len(d.Designs) == 0 {
		return fmt.Errorf("description: relations or designs are missing")
	}
	for _, r := range d.Relations {
		if !r.Valid() {
			return fmt.Errorf("description: invalid relation")
		}
	}
	if d.Grouped && !d.Takes("by") {
		return fmt.Errorf("description: a grouped mechanism must have a parameter %q in its schema", "by")
	}
	if d.DeclaresFinish && !d.Linear {
		return fmt.Errorf("description: only a linear mechanism can declare its finish")
	}
	if d.DeclaresQuery && !(d.DeclaresFinish && d.Grouped && d.Capped && d.Weighted) {
		return fmt.Errorf("description: the parameters of a mechanism that declares its query must be a schema of an object")
	}
	if d.Linear && d.SelfNoising {
		return fmt.Errorf("description: a mechanism that draws its own noise cannot be linear")
	}
	return nil
}

// Takes reports whether the mechanism has a parameter of that name.
func (d Description) Takes(parameter string) bool {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	return json.Unmarshal(d.Params, &schema) == nil && schema.Properties[parameter] != nil
}

var name = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

// named reports whether a mechanism may have the name.
func named(s string) bool { return len(s) <= 64 && name.MatchString(s) }

// Check returns what is wrong with a plan as the answer to req, or nil. It does
// not compute what the event costs.
func (p Plan) Check(req PlanRequest) error {
	if _, err := p.Declared(req.Public); err != nil {
		return err
	}
	if err := req.Public.Cap.Check(); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	if len(p.Output) == 0 || p.Rows < 0 {
		return fmt.Errorf("plan: output must have a column and no negative number of rows")
	}
	fields := map[string]FieldType{}
	for _, f := range p.Output {
		if f.Name == "" || len(f.Name) > 256 || !utf8.ValidString(f.Name) || fields[f.Name] != "" {
			return fmt.Errorf("plan: output columns must have short names that differ")
		}
		if f.Type != Float64 && f.Type != Int64 && f.Type != String {
			return fmt.Errorf("plan: an output column has no type")
		}
		if !(f.Granularity >= 0) || math.IsInf(f.Granularity, 1) || (f.Granularity > 0 && f.Type != Float64) {
			return fmt.Errorf("plan: granularity must be positive, finite, and of a float64 column")
		}
		if !(f.Low <= f.High) || math.IsInf(f.Low, 0) || math.IsInf(f.High, 0) || f.Low != f.High && f.Type == String || f.Texts != nil &&
			f.Type != String {
			return fmt.Errorf("plan: an output column of numbers may have a finite range, low below high, and one of strings a list of texts")
		}
		if !f.Statistic.Known() || f.Statistic != "" && f.Type == String {
			return fmt.Errorf("plan: the statistic of an output column of numbers must be a known one, or none")
		}
		fields[f.Name] = f.Type
	}
	for _, e := range p.Errors {
		if fields[e.Field] == "" || !(e.NoiseSD >= 0) || !(e.Half95 >= 0) || math.IsInf(e.NoiseSD+e.Half95, 1) {
			return fmt.Errorf("plan: an expected error must be of an output column, finite and not negative")
		}
		if err := e.checkLinear(req); err != nil {
			return err
		}
		for _, o := range []*Term{e.Over, e.Above} {
			if o == nil {
				continue
			}
			if !(o.NoiseSD >= 0 && o.Half95 >= 0 && o.Unsure >= 0) || math.IsInf(o.NoiseSD+o.Half95+o.Unsure, 1) {
				return fmt.Errorf("plan: the sums of a quotient must have errors that are finite and not negative")
			}
			if err := (ExpectedError{Linear: &o.Linear}).checkLinear(req); err != nil {
				return err
			}
		}
	}
	if p.Event == nil && len(p.Queries) == 0 {
		return fmt.Errorf("plan: event is missing")
	}
	if err := p.checkQueries(); err != nil {
		return err
	}
	return p.Finish.check(p)
}

// Declared returns the declared columns that the plan asks for, in its order. It fails
// if one is not declared, is named twice, or is a category without a domain.
func (p Plan) Declared(public Public) ([]Column, error) {
	var out []Column
	for i, name := range p.Columns {
		c, ok := public.Column(name)
		if !ok || slices.Contains(p.Columns[:i], name) {
			return nil, fmt.Errorf("plan: columns must be declared columns, each named once")
		}
		if c.Type == Category && len(c.Domain) == 0 {
			return nil, fmt.Errorf("plan: column %q is a category without a domain", name)
		}
		out = append(out, c)
	}
	return out, nil
}

// checkLinear checks the form of what a plan says about sampling. That it is true remains the
// mechanism's claim.
func (e ExpectedError) checkLinear(req PlanRequest) error {
	l := e.Linear
	switch {
	case l == nil && len(e.SamplingNote) <= 500:
		return nil
	case l == nil || e.SamplingNote != "":
		return fmt.Errorf("plan: what an expected error says of sampling must be linear or a short note, not both")
	case !(l.Low <= l.High) || l.Scale == 0 || math.IsNaN(l.Scale) || math.IsInf(l.Low, 0) || math.IsInf(l.High, 0) || math.IsInf(l.Scale, 0):
		return fmt.Errorf("plan: a linear value needs finite low and high, low at most high, and a scale that is not 0")
	}
	if c, ok := req.Public.Column(l.Column); l.Column != "" && (!ok || c.Type != Number) {
		return fmt.Errorf("plan: a linear value must name a declared column of numbers, or none")
	}
	return nil
}

// Check returns ErrShape, ErrNonFinite or ErrLattice unless r is a result of the
// plan's shape.
func (r Result) Check(p Plan) error {
	if err := r.Shape(p); err != nil {
		return err
	}
	flags := r.strings(FlagField)
	for i, f := range p.Output {
		if f.Texts != nil && slices.ContainsFunc(r.Columns[i].Texts, func(s string) bool { return !slices.Contains(f.Texts, s) }) {
			return ErrLattice
		}
		for k, x := range r.Columns[i].Float64 {
			if math.IsNaN(x) && k < len(flags) && flags[k] != "" {
				continue // a blank value
			}
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return ErrNonFinite
			}
			if f.Granularity > 0 && !onLattice(x, f.Granularity) {
				return ErrLattice
			}
		}
	}
	return nil
}

// Shape returns ErrShape unless r has the plan's columns, types and rows.
func (r Result) Shape(p Plan) error {
	if len(r.Columns) != len(p.Output) {
		return ErrShape
	}
	for i, f := range p.Output {
		c := r.Columns[i]
		n := len(c.Float64) + len(c.Int64) + len(c.Texts)
		if c.Blank != nil {
			return ErrShape
		}
		if c.Name != f.Name || typeOf(c) != f.Type || int64(n) != p.Rows {
			if !(c.Name == f.Name && n == 0 && p.Rows == 0) {
				return ErrShape
			}
		}
		for _, s := range c.Texts {
			if len(s) > MaxString || !utf8.ValidString(s) {
				return ErrShape
			}
		}
	}
	return nil
}

// typeOf is the type of the one slice that holds the values, or "" where none or
// more than one does.
func typeOf(c ResultColumn) FieldType {
	switch {
	case len(c.Float64) > 0 && len(c.Int64)+len(c.Texts) == 0:
		return Float64
	case len(c.Int64) > 0 && len(c.Float64)+len(c.Texts) == 0:
		return Int64
	case len(c.Texts) > 0 && len(c.Float64)+len(c.Int64) == 0:
		return String
	}
	return ""
}

// onLattice reports whether x is the float64 product of a whole number and g.
// The division may be off by a unit in the last place; its neighbours are tried.
func onLattice(x, g float64) bool {
	k := math.RoundToEven(x / g)
	for _, k := range [...]float64{k, k - 1, k + 1} {
		if k*g == x {
			return true
		}
	}
	return false
}
