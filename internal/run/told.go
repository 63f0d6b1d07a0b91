package run

import (
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Told keeps the answers of a plugin whose queries are declared, for machines that do not have it: they
// plan with them, and add up the queries themselves.
type Told struct {
	SHA256 string
	About  []byte            // a Description of the protocol
	Plans  map[string][]byte // Plans of the protocol, by the digest of what was asked
}

var errNotTold = errors.New("the plugin made no such plan")

// NewTold begins to keep what a plugin says.
func NewTold(about sdk.Description, sha256 string) (Told, error) {
	t := Told{SHA256: sha256, Plans: map[string][]byte{}}
	m, err := wire.FromDescription(about)
	if err == nil {
		t.About, err = proto.Marshal(m)
	}
	return t, err
}

// Add keeps what it answered to a request.
func (t Told) Add(req sdk.PlanRequest, made sdk.Plan) error {
	asked, err := digest(req)
	if err != nil {
		return err
	}
	m, err := wire.FromPlan(made)
	if err == nil {
		t.Plans[asked], err = proto.Marshal(m)
	}
	return err
}

// told returns what the plugins of a plan said.
func told(p *planned.Plan) map[string]Told {
	all := map[string]Told{}
	for _, rel := range p.Releases() {
		if k, ok := rel.Mech.(*mechanism); ok && k.about.DeclaresQuery {
			all[rel.Job.Mechanism] = k.told
		}
	}
	return all
}

// Description reads what the plugin is.
func (t Told) Description() (sdk.Description, error) {
	var m wire.Description
	if err := proto.Unmarshal(t.About, &m); err != nil {
		return sdk.Description{}, err
	}
	return wire.ToDescription(&m)
}

// Plan reads what the plugin answered to a request. It fails where the plugin made no plan.
func (t Told) Plan(req sdk.PlanRequest) (sdk.Plan, error) {
	asked, err := digest(req)
	if err != nil {
		return sdk.Plan{}, err
	}
	text, ok := t.Plans[asked]
	if !ok {
		return sdk.Plan{}, errNotTold
	}
	var m wire.Plan
	if err := proto.Unmarshal(text, &m); err != nil {
		return sdk.Plan{}, err
	}
	return wire.ToPlan(&m)
}
