package language

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"

	"github.com/dprelease/dprelease/internal/job"
)

// The digest of a job is made of what its declaration says: every key adds its value, unless
// the declaration says out and why (option out). Values are those of the checked job, so that
// defaults and spellings make no difference.

// canon holds facts by their keys; encoding/json sorts them.
type canon map[string]any

// fact returns what a value adds to the digest, nil for nothing.
func (k kind[V]) fact(v *V) any {
	if k.facts != nil {
		return k.facts(v)
	}
	return plain(*v)
}

// plain is a value without parts of its own: nil where it is zero.
func plain(v any) any {
	switch v := v.(type) {
	case job.Handling:
		return canonicalHandling(v)
	case job.Take:
		return canonicalTake(v)
	case job.Expression:
		return canonicalExpression(v)
	case *big.Rat:
		return exact(v)
	case json.RawMessage:
		return canonicalParams(v)
	case fmt.Stringer:
		return v.String()
	}
	if reflect.ValueOf(v).IsZero() {
		return nil
	}
	return v
}

// factsOf are the facts of a mapping with declared keys.
func factsOf[T any](fields []field[T], from *T) canon {
	is := canon{}
	for _, f := range fields {
		if f.out != "" {
			continue
		}
		if v := f.facts(from); v != nil {
			is[f.Name] = v
		}
	}
	return is
}

// factsByName are the facts of a mapping with names of the user's choosing, which stand in
// the elements as Name.
func factsByName[V any](k kind[V], all []V) any {
	if len(all) == 0 {
		return nil
	}
	is := canon{}
	for i := range all {
		is[reflect.ValueOf(all[i]).FieldByName("Name").String()] = orEmpty(k.fact(&all[i]))
	}
	return is
}

// orEmpty stands for an element without facts: that it is there is one.
func orEmpty(fact any) any {
	if fact == nil {
		return canon{}
	}
	return fact
}
