package wire

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// The words of the SDK and their numbers on the wire. A word without a number, and a
// number without a word, is an error, also the zero value of every enumeration. For a
// relation that is P1: there is no default.
var (
	relations = map[privacy.Relation]Relation{
		privacy.AddRemove: Relation_RELATION_ADD_REMOVE, privacy.ReplaceOne: Relation_RELATION_REPLACE_ONE,
	}
	columnTypes = map[sdk.ColumnType]ColumnType{
		sdk.Number: ColumnType_COLUMN_TYPE_NUMBER, sdk.Category: ColumnType_COLUMN_TYPE_CATEGORY,
	}
	missings = map[sdk.Missing]Missing{
		sdk.MissingRefuse: Missing_MISSING_REFUSE, sdk.MissingDrop: Missing_MISSING_DROP, sdk.MissingImpute: Missing_MISSING_IMPUTE,
	}
	fieldTypes = map[sdk.FieldType]FieldType{
		sdk.Float64: FieldType_FIELD_TYPE_FLOAT64, sdk.Int64: FieldType_FIELD_TYPE_INT64, sdk.String: FieldType_FIELD_TYPE_STRING,
	}
)

// words translates between words and numbers and keeps the first error.
type words struct{ err error }

func number[A, B comparable](w *words, what string, m map[A]B, word A) B {
	n, ok := m[word]
	if !ok && w.err == nil {
		w.err = fmt.Errorf("unknown %s %v", what, word)
	}
	return n
}

func word[A, B comparable](w *words, what string, m map[A]B, number B) (out A) {
	for a, b := range m {
		if b == number {
			return a
		}
	}
	if w.err == nil {
		w.err = fmt.Errorf("unknown %s %v", what, number)
	}
	return out
}

func each[A, B any](in []A, f func(A) B) []B {
	var out []B
	for _, a := range in {
		out = append(out, f(a))
	}
	return out
}

var errNotFinite = errors.New("a number is not finite")

// finite returns an error if m, or a message inside it, holds NaN or an infinity.
func finite(m proto.Message) error {
	return walk(m.ProtoReflect(), 0, func(m protoreflect.Message) (err error) {
		m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			if fd.Kind() != protoreflect.DoubleKind {
				return true
			}
			if !fd.IsList() && !finiteNumber(v.Float()) {
				err = errNotFinite
			}
			for i := 0; fd.IsList() && i < v.List().Len(); i++ {
				if !finiteNumber(v.List().Get(i).Float()) {
					err = errNotFinite
				}
			}
			return err == nil
		})
		return err
	})
}

func finiteNumber(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// FromDescription returns the message of a description.
func FromDescription(d sdk.Description) (*Description, error) {
	var w words
	return &Description{
		Name: d.Name, Version: d.Version, Summary: d.Summary, ParamsSchema: d.Params, Relations: w.relations(d.Relations),
		Designs: d.Designs, SelfNoising: d.SelfNoising, Grouped: d.Grouped, Capped: d.Capped, Linear: d.Linear, Weighted: d.Weighted,
		DeclaresFinish: d.DeclaresFinish, DeclaresQuery: d.DeclaresQuery,
	}, w.err
}

// ToDescription is the inverse of FromDescription.
func ToDescription(m *Description) (sdk.Description, error) {
	var w words
	return sdk.Description{
		Name: m.GetName(), Version: m.GetVersion(), Summary: m.GetSummary(), Params: bytes.Clone(m.GetParamsSchema()),
		Relations: w.readRelations(m.GetRelations()), Designs: m.GetDesigns(), SelfNoising: m.GetSelfNoising(),
		Grouped: m.GetGrouped(), Capped: m.GetCapped(), Linear: m.GetLinear(), Weighted: m.GetWeighted(), DeclaresFinish: m.GetDeclaresFinish(),
		DeclaresQuery: m.GetDeclaresQuery(),
	}, w.err
}

func (w *words) relations(in []privacy.Relation) []Relation {
	return each(in, func(r privacy.Relation) Relation { return number(w, "relation", relations, r) })
}

func (w *words) readRelations(in []Relation) []privacy.Relation {
	return each(in, func(r Relation) privacy.Relation { return word(w, "relation", relations, r) })
}

// FromPlanRequest returns the message of a request to a mechanism.
func FromPlanRequest(mechanism string, r sdk.PlanRequest) (*PlanRequest, error) {
	var w words
	m := &PlanRequest{Mechanism: mechanism, Params: r.Params, Public: w.public(r.Public), Target: fromPoint(r.Target), InRho: r.InRho}
	return m, errors.Join(w.err, finite(m))
}

// ToPlanRequest is the inverse of FromPlanRequest.
func ToPlanRequest(m *PlanRequest) (sdk.PlanRequest, error) {
	var w words
	r := sdk.PlanRequest{Params: bytes.Clone(m.GetParams()), Public: w.readPublic(m.GetPublic()), Target: toPoint(m.GetTarget()),
		InRho: m.GetInRho()}
	return r, errors.Join(w.err, finite(m))
}

func fromPoint(p privacy.Point) *Point { return &Point{Epsilon: p.Epsilon, Delta: p.Delta} }

func toPoint(p *Point) privacy.Point {
	return privacy.Point{Epsilon: p.GetEpsilon(), Delta: p.GetDelta()}
}

func (w *words) public(p sdk.Public) *Public {
	d := p.Design
	var c *Cap
	if p.Cap != nil {
		c = &Cap{Groups: p.Cap.Groups, Rows: p.Cap.Rows, Times: p.Cap.Times}
	}
	return &Public{
		Cap:      c,
		Relation: number(w, "relation", relations, p.Relation), SampleRelations: w.relations(p.SampleRelations), Population: p.Population,
		Design: &Design{
			Kind: d.Kind, Rate: d.Rate, SampleSize: d.SampleSize, MinWeight: d.MinWeight, MaxWeight: d.MaxWeight,
			EqualWeights: d.EqualWeights, LargestCount: d.LargestCount,
		},
		Columns: each(p.Columns, func(c sdk.Column) *Column {
			return &Column{
				Name: c.Name, Type: number(w, "column type", columnTypes, c.Type), Lower: c.Lower, Upper: c.Upper,
				Missing: number(w, "handling of missing values", missings, c.Missing), Domain: c.Domain, Immutable: c.Immutable,
			}
		}),
	}
}

func (w *words) readPublic(m *Public) sdk.Public {
	d := m.GetDesign()
	var c *sdk.Cap
	if m.GetCap() != nil {
		c = &sdk.Cap{Groups: m.GetCap().GetGroups(), Rows: m.GetCap().GetRows(), Times: m.GetCap().GetTimes()}
	}
	return sdk.Public{
		Cap:      c,
		Relation: word(w, "relation", relations, m.GetRelation()), SampleRelations: w.readRelations(m.GetSampleRelations()),
		Population: m.GetPopulation(),
		Design: sdk.Design{
			Kind: d.GetKind(), Rate: d.GetRate(), SampleSize: d.GetSampleSize(), MinWeight: d.GetMinWeight(), MaxWeight: d.GetMaxWeight(),
			EqualWeights: d.GetEqualWeights(), LargestCount: d.GetLargestCount(),
		},
		Columns: each(m.GetColumns(), func(c *Column) sdk.Column {
			return sdk.Column{
				Name: c.GetName(), Type: word(w, "column type", columnTypes, c.GetType()), Lower: c.GetLower(), Upper: c.GetUpper(),
				Missing: word(w, "handling of missing values", missings, c.GetMissing()), Domain: c.GetDomain(), Immutable: c.GetImmutable(),
			}
		}),
	}
}

// FromPlan returns the message of a plan.
func FromPlan(p sdk.Plan) (*Plan, error) {
	var event []byte
	if p.Event != nil || len(p.Queries) == 0 {
		var err error
		if event, err = FromEvent(p.Event); err != nil {
			return nil, err
		}
	}
	var w words
	m := &Plan{
		Columns: p.Columns, Event: event, Rows: p.Rows, Finish: fromFinish(p.Finish), Queries: fromQueries(p.Queries), Noise: p.Noise,
		Output: each(p.Output, func(f sdk.Field) *Field {
			return &Field{Name: f.Name, Type: number(&w, "field type", fieldTypes, f.Type), Granularity: f.Granularity,
				Low: f.Low, High: f.High, Texts: f.Texts, Doc: f.Doc, Of: f.Of, Per: f.Per, Value: f.Value, Statistic: string(f.Statistic)}
		}),
		Errors: each(p.Errors, func(e sdk.ExpectedError) *ExpectedError {
			m := &ExpectedError{Field: e.Field, NoiseSd: e.NoiseSD, Half95: e.Half95, Note: e.Note, SamplingNote: e.SamplingNote, Unsure: e.Unsure}
			m.Linear, m.Over, m.Above = fromLinear(e.Linear), fromTerm(e.Over), fromTerm(e.Above)
			return m
		}),
	}
	return m, errors.Join(w.err, finite(m))
}

// ToPlan is the inverse of FromPlan.
func ToPlan(m *Plan) (sdk.Plan, error) {
	var event privacy.Event
	if len(m.GetEvent()) > 0 || len(m.GetQueries()) == 0 {
		var err error
		if event, err = ToEvent(m.GetEvent()); err != nil {
			return sdk.Plan{}, err
		}
	}
	var w words
	p := sdk.Plan{
		Columns: m.GetColumns(), Event: event, Rows: m.GetRows(), Finish: toFinish(m.GetFinish()), Queries: toQueries(m.GetQueries()),
		Noise: m.GetNoise(),
		Output: each(m.GetOutput(), func(f *Field) sdk.Field {
			return sdk.Field{Name: f.GetName(), Type: word(&w, "field type", fieldTypes, f.GetType()), Granularity: f.GetGranularity(),
				Low: f.GetLow(), High: f.GetHigh(), Texts: f.GetTexts(), Doc: f.GetDoc(), Of: f.GetOf(), Per: f.GetPer(), Value: f.GetValue(),
				Statistic: sdk.Statistic(f.GetStatistic())}
		}),
		Errors: each(m.GetErrors(), func(e *ExpectedError) sdk.ExpectedError {
			out := sdk.ExpectedError{Field: e.GetField(), NoiseSD: e.GetNoiseSd(), Half95: e.GetHalf95(), Note: e.GetNote(),
				SamplingNote: e.GetSamplingNote(), Unsure: e.GetUnsure()}
			if l := e.GetLinear(); l != nil {
				out.Linear = toLinear(l)
			}
			out.Over, out.Above = toTerm(e.GetOver()), toTerm(e.GetAbove())
			return out
		}),
	}
	return p, errors.Join(w.err, finite(m))
}

func fromTerm(s *sdk.Term) *Term {
	if s == nil {
		return nil
	}
	return &Term{NoiseSd: s.NoiseSD, Half95: s.Half95, Unsure: s.Unsure, Linear: fromLinear(&s.Linear)}
}

func toTerm(s *Term) *sdk.Term {
	if s == nil {
		return nil
	}
	return &sdk.Term{NoiseSD: s.GetNoiseSd(), Half95: s.GetHalf95(), Unsure: s.GetUnsure(), Linear: *toLinear(s.GetLinear())}
}

func fromLinear(l *sdk.Linear) *Linear {
	if l == nil {
		return nil
	}
	return &Linear{Column: l.Column, Low: l.Low, High: l.High, Scale: l.Scale, Adds: l.Adds}
}

func toLinear(l *Linear) *sdk.Linear {
	return &sdk.Linear{Column: l.GetColumn(), Low: l.GetLow(), High: l.GetHigh(), Scale: l.GetScale(), Adds: l.GetAdds()}
}

// FromReleaseRequest returns the message that starts a release of a mechanism,
// without the lane and the channel for noise.
func FromReleaseRequest(mechanism string, r sdk.ReleaseRequest) (*ReleaseRequest, error) {
	q, err := FromPlanRequest(mechanism, r.PlanRequest)
	plan, wrong := FromPlan(r.Plan)
	if err = errors.Join(err, wrong); err != nil {
		return nil, err
	}
	return &ReleaseRequest{Mechanism: q.Mechanism, Params: q.Params, Public: q.Public, Target: q.Target, InRho: q.InRho, Plan: plan}, nil
}

// ToReleaseRequest is the inverse of FromReleaseRequest.
func ToReleaseRequest(m *ReleaseRequest) (sdk.ReleaseRequest, error) {
	q, err := ToPlanRequest(&PlanRequest{Params: m.GetParams(), Public: m.GetPublic(), Target: m.GetTarget(), InRho: m.GetInRho()})
	plan, wrong := ToPlan(m.GetPlan())
	return sdk.ReleaseRequest{PlanRequest: q, Plan: plan}, errors.Join(err, wrong)
}
