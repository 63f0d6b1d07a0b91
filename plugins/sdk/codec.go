package sdk

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	"github.com/dprelease/dprelease/internal/wire"
	"github.com/dprelease/dprelease/privacy"
)

var errNotFinite = errors.New("a number is not finite")

// encode and decode are the two ends of every MarshalBinary and UnmarshalBinary:
// deterministic bytes out, unknown fields refused on the way in.
func encode(m proto.Message, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

func decode(b []byte, m proto.Message) error {
	if err := proto.Unmarshal(b, m); err != nil {
		return errors.New("message cannot be decoded")
	}
	return wire.Known(m)
}

// MarshalBinary encodes d as the Description message of plugin-v1.
func (d Description) MarshalBinary() ([]byte, error) { return encode(fromDescription(d)) }

// UnmarshalBinary decodes the Description message of plugin-v1.
func (d *Description) UnmarshalBinary(b []byte) error {
	var m wire.Description
	if err := decode(b, &m); err != nil {
		return err
	}
	v, err := toDescription(&m)
	if err == nil {
		*d = v
	}
	return err
}

// MarshalBinary encodes r as the PlanRequest message of plugin-v1.
func (r PlanRequest) MarshalBinary() ([]byte, error) {
	public, err := fromPublic(r.Public)
	return encode(&wire.PlanRequest{Params: r.Params, Public: public, Target: fromPoint(r.Target)},
		errors.Join(err, finite(r.Target.Epsilon, r.Target.Delta)))
}

// UnmarshalBinary decodes the PlanRequest message of plugin-v1.
func (r *PlanRequest) UnmarshalBinary(b []byte) error {
	var m wire.PlanRequest
	if err := decode(b, &m); err != nil {
		return err
	}
	v, err := toPlanRequest(&m)
	if err == nil {
		*r = v
	}
	return err
}

// MarshalBinary encodes p as the Plan message of plugin-v1.
func (p Plan) MarshalBinary() ([]byte, error) { return encode(fromPlan(p)) }

// UnmarshalBinary decodes the Plan message of plugin-v1.
func (p *Plan) UnmarshalBinary(b []byte) error {
	var m wire.Plan
	if err := decode(b, &m); err != nil {
		return err
	}
	v, err := toPlan(&m)
	if err == nil {
		*p = v
	}
	return err
}

// MarshalBinary encodes r as the ReleaseStart message of plugin-v1, without the
// lane, which belongs to the transport.
func (r ReleaseRequest) MarshalBinary() ([]byte, error) {
	public, err := fromPublic(r.Public)
	plan, err2 := fromPlan(r.Plan)
	return encode(&wire.ReleaseStart{Params: r.Params, Public: public, Target: fromPoint(r.Target), Plan: plan},
		errors.Join(err, err2, finite(r.Target.Epsilon, r.Target.Delta)))
}

// UnmarshalBinary decodes the ReleaseStart message of plugin-v1.
func (r *ReleaseRequest) UnmarshalBinary(b []byte) error {
	var m wire.ReleaseStart
	if err := decode(b, &m); err != nil {
		return err
	}
	v, err := toReleaseRequest(&m)
	if err == nil {
		*r = v
	}
	return err
}

func finite(xs ...float64) error {
	for _, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return errNotFinite
		}
	}
	return nil
}

func fromPoint(p privacy.Point) *wire.Point { return &wire.Point{Epsilon: p.Epsilon, Delta: p.Delta} }

func toPoint(p *wire.Point) (privacy.Point, error) {
	return privacy.Point{Epsilon: p.GetEpsilon(), Delta: p.GetDelta()}, finite(p.GetEpsilon(), p.GetDelta())
}

func fromRelations(rs []privacy.Relation) ([]wire.Relation, error) {
	var out []wire.Relation
	for _, r := range rs {
		v, err := fromRelation(r)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func fromRelation(r privacy.Relation) (wire.Relation, error) {
	switch r {
	case privacy.AddRemove:
		return wire.Relation_RELATION_ADD_REMOVE, nil
	case privacy.ReplaceOne:
		return wire.Relation_RELATION_REPLACE_ONE, nil
	}
	return 0, errors.New("relation is missing: say add-remove or replace-one, there is no default") // P1
}

func toRelations(rs []wire.Relation) ([]privacy.Relation, error) {
	var out []privacy.Relation
	for _, r := range rs {
		v, err := toRelation(r)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func toRelation(r wire.Relation) (privacy.Relation, error) {
	switch r {
	case wire.Relation_RELATION_ADD_REMOVE:
		return privacy.AddRemove, nil
	case wire.Relation_RELATION_REPLACE_ONE:
		return privacy.ReplaceOne, nil
	}
	return 0, fmt.Errorf("unknown relation %d", int32(r))
}
