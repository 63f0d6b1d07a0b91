package sdk

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/dprelease/dprelease/internal/wire"
)

// The pairs of values here and numbers on the wire. A value without a partner is
// an error in both directions.
var (
	columnTypes = map[ColumnType]wire.ColumnType{
		Number: wire.ColumnType_COLUMN_TYPE_NUMBER, Category: wire.ColumnType_COLUMN_TYPE_CATEGORY,
	}
	missings = map[Missing]wire.Missing{
		MissingRefuse: wire.Missing_MISSING_REFUSE, MissingDrop: wire.Missing_MISSING_DROP, MissingImpute: wire.Missing_MISSING_IMPUTE,
	}
	fieldTypes = map[FieldType]wire.FieldType{
		Float64: wire.FieldType_FIELD_TYPE_FLOAT64, Int64: wire.FieldType_FIELD_TYPE_INT64, String: wire.FieldType_FIELD_TYPE_STRING,
	}
)

func partner[A, B comparable](m map[A]B, what string, a A) (B, error) {
	b, ok := m[a]
	if !ok {
		return b, fmt.Errorf("unknown %s %v", what, a)
	}
	return b, nil
}

func reverse[A, B comparable](m map[A]B, what string, b B) (A, error) {
	for a, v := range m {
		if v == b {
			return a, nil
		}
	}
	var zero A
	return zero, fmt.Errorf("unknown %s %v", what, b)
}

func fromDescription(d Description) (*wire.Description, error) {
	relations, err := fromRelations(d.Relations)
	return &wire.Description{
		Name: d.Name, Version: d.Version, Summary: d.Summary, ParamsSchema: d.Params,
		Relations: relations, Designs: d.Designs, SelfNoising: d.SelfNoising,
	}, err
}

func toDescription(m *wire.Description) (Description, error) {
	relations, err := toRelations(m.GetRelations())
	return Description{
		Name: m.GetName(), Version: m.GetVersion(), Summary: m.GetSummary(), Params: bytes.Clone(m.GetParamsSchema()),
		Relations: relations, Designs: m.GetDesigns(), SelfNoising: m.GetSelfNoising(),
	}, err
}

func fromPublic(p Public) (*wire.Public, error) {
	relation, err := fromRelation(p.Relation)
	if err != nil {
		return nil, err
	}
	sample, err := fromRelations(p.SampleRelations)
	if err != nil {
		return nil, err
	}
	d := p.Design
	if err := finite(d.Rate, d.MinWeight, d.MaxWeight); err != nil {
		return nil, err
	}
	out := &wire.Public{Relation: relation, SampleRelations: sample, Population: p.Population, Design: &wire.Design{
		Kind: d.Kind, Rate: d.Rate, SampleSize: d.SampleSize, MinWeight: d.MinWeight, MaxWeight: d.MaxWeight,
		EqualWeights: d.EqualWeights, LargestCount: d.LargestCount,
	}}
	for _, c := range p.Columns {
		typ, err := partner(columnTypes, "column type", c.Type)
		if err != nil {
			return nil, err
		}
		missing, err := partner(missings, "handling of missing values", c.Missing)
		if err != nil {
			return nil, err
		}
		if err := finite(c.Lower, c.Upper); err != nil {
			return nil, err
		}
		out.Columns = append(out.Columns, &wire.Column{
			Name: c.Name, Type: typ, Lower: c.Lower, Upper: c.Upper, Missing: missing, Domain: c.Domain, Immutable: c.Immutable,
		})
	}
	return out, nil
}

func toPublic(m *wire.Public) (Public, error) {
	relation, err := toRelation(m.GetRelation())
	if err != nil {
		return Public{}, err
	}
	sample, err := toRelations(m.GetSampleRelations())
	if err != nil {
		return Public{}, err
	}
	d := m.GetDesign()
	out := Public{Relation: relation, SampleRelations: sample, Population: m.GetPopulation(), Design: Design{
		Kind: d.GetKind(), Rate: d.GetRate(), SampleSize: d.GetSampleSize(), MinWeight: d.GetMinWeight(), MaxWeight: d.GetMaxWeight(),
		EqualWeights: d.GetEqualWeights(), LargestCount: d.GetLargestCount(),
	}}
	if err := finite(d.GetRate(), d.GetMinWeight(), d.GetMaxWeight()); err != nil {
		return Public{}, err
	}
	for _, c := range m.GetColumns() {
		typ, err := reverse(columnTypes, "column type", c.GetType())
		if err != nil {
			return Public{}, err
		}
		missing, err := reverse(missings, "handling of missing values", c.GetMissing())
		if err != nil {
			return Public{}, err
		}
		if err := finite(c.GetLower(), c.GetUpper()); err != nil {
			return Public{}, err
		}
		out.Columns = append(out.Columns, Column{
			Name: c.GetName(), Type: typ, Lower: c.GetLower(), Upper: c.GetUpper(), Missing: missing,
			Domain: c.GetDomain(), Immutable: c.GetImmutable(),
		})
	}
	return out, nil
}

func toPlanRequest(m *wire.PlanRequest) (PlanRequest, error) {
	public, err := toPublic(m.GetPublic())
	target, err2 := toPoint(m.GetTarget())
	return PlanRequest{Params: bytes.Clone(m.GetParams()), Public: public, Target: target}, errors.Join(err, err2)
}

func fromPlan(p Plan) (*wire.Plan, error) {
	event, err := wire.FromEvent(p.Event)
	if err != nil {
		return nil, err
	}
	out := &wire.Plan{Columns: p.Columns, Event: event, Rows: p.Rows}
	for _, f := range p.Output {
		typ, err := partner(fieldTypes, "field type", f.Type)
		if err != nil {
			return nil, err
		}
		if err := finite(f.Granularity); err != nil {
			return nil, err
		}
		out.Output = append(out.Output, &wire.Field{Name: f.Name, Type: typ, Granularity: f.Granularity, Doc: f.Doc})
	}
	for _, e := range p.Errors {
		if err := finite(e.NoiseSD, e.Half95); err != nil {
			return nil, err
		}
		one := &wire.ExpectedError{Field: e.Field, NoiseSd: e.NoiseSD, Half95: e.Half95, Note: e.Note, SamplingNote: e.SamplingNote}
		if l := e.Linear; l != nil {
			if err := finite(l.Low, l.High, l.Scale); err != nil {
				return nil, err
			}
			one.Linear = &wire.Linear{Column: l.Column, Low: l.Low, High: l.High, Scale: l.Scale}
		}
		out.Errors = append(out.Errors, one)
	}
	return out, nil
}

func toPlan(m *wire.Plan) (Plan, error) {
	event, err := wire.ToEvent(m.GetEvent())
	if err != nil {
		return Plan{}, err
	}
	out := Plan{Columns: m.GetColumns(), Event: event, Rows: m.GetRows()}
	for _, f := range m.GetOutput() {
		typ, err := reverse(fieldTypes, "field type", f.GetType())
		if err != nil {
			return Plan{}, err
		}
		if err := finite(f.GetGranularity()); err != nil {
			return Plan{}, err
		}
		out.Output = append(out.Output, Field{Name: f.GetName(), Type: typ, Granularity: f.GetGranularity(), Doc: f.GetDoc()})
	}
	for _, e := range m.GetErrors() {
		if err := finite(e.GetNoiseSd(), e.GetHalf95()); err != nil {
			return Plan{}, err
		}
		one := ExpectedError{Field: e.GetField(), NoiseSD: e.GetNoiseSd(), Half95: e.GetHalf95(), Note: e.GetNote(), SamplingNote: e.GetSamplingNote()}
		if l := e.GetLinear(); l != nil {
			if err := finite(l.GetLow(), l.GetHigh(), l.GetScale()); err != nil {
				return Plan{}, err
			}
			one.Linear = &Linear{Column: l.GetColumn(), Low: l.GetLow(), High: l.GetHigh(), Scale: l.GetScale()}
		}
		out.Errors = append(out.Errors, one)
	}
	return out, nil
}

func toReleaseRequest(m *wire.ReleaseStart) (ReleaseRequest, error) {
	public, err := toPublic(m.GetPublic())
	target, err2 := toPoint(m.GetTarget())
	plan, err3 := toPlan(m.GetPlan())
	return ReleaseRequest{Params: bytes.Clone(m.GetParams()), Public: public, Target: target, Plan: plan},
		errors.Join(err, err2, err3)
}
