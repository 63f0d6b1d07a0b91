package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// secondsApart is the pause before a plan is asked for again: the clock then shows other seconds.
const secondsApart = 2 * time.Second

// Witnessed asks the witnesses of all plugins for the plans of p once more, just before the
// debit and seconds after they were made. A plan that differs is refused: it depends
// on the clock. A plan that was asked for seconds apart by an earlier run is only held to
// what it was then, so that a job waits once.
func (m *Mechanisms) Witnessed(ctx context.Context, p *planned.Plan) error {
	for _, d := range p.Draws {
		for _, r := range d.Releases {
			k, ok := r.Mech.(*mechanism)
			if !ok || k.witness == nil {
				continue
			}
			if err := k.witnessed(ctx, r.Request().PlanRequest, m.from); err != nil {
				return planned.Faulty(ctx, p.Job, r.Index, err)
			}
		}
	}
	return nil
}

// maxPlan bounds the plan that an earlier run kept, in bytes.
const maxPlan = 64 << 20

// witnessed asks the witness for one plan, or compares it with what it was.
func (k *mechanism) witnessed(ctx context.Context, req sdk.PlanRequest, from Programs) error {
	asked, err := k.question(req)
	if err != nil {
		return err
	}
	k.mu.Lock()
	made := k.made[asked]
	k.mu.Unlock()
	planned, err := k.answer(made.plan)
	if err != nil {
		return err
	}
	path := filepath.Join(from.Plans, asked)
	if from.Plans != "" {
		if old, err := file.Read(path, maxPlan); err == nil {
			if string(old) == planned {
				return nil
			}
			return k.differs("an earlier run was told something else")
		}
	}
	select {
	case <-time.After(time.Until(made.at.Add(cmp.Or(from.Apart, secondsApart)))):
	case <-ctx.Done():
		return ctx.Err()
	}
	again, err := k.witness.Plan(ctx, req)
	switch {
	case err != nil && !errors.Is(err, &host.Error{Code: host.CodeRefused}):
		return blamed(err)
	case err != nil || !reflect.DeepEqual(made.plan, again):
		return k.differs("some seconds later it was told something else")
	}
	if from.Plans != "" { // one that cannot be kept is asked for again
		_ = os.MkdirAll(from.Plans, 0o700)
		_ = os.WriteFile(path, []byte(planned), 0o600)
	}
	return nil
}

// answered is a plan of a plugin, as it came, and when.
type answered struct {
	plan sdk.Plan
	at   time.Time
}

// note keeps what a plugin was told.
func (k *mechanism) note(req sdk.PlanRequest, made sdk.Plan) error {
	asked, err := k.question(req)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.made == nil {
		k.made = map[string]answered{}
	}
	k.made[asked] = answered{made, time.Now()}
	if !k.about.DeclaresQuery {
		return nil
	}
	if k.told.Plans == nil {
		if k.told, err = NewTold(k.about, k.sha256); err != nil {
			return err
		}
	}
	return k.told.Add(req, made)
}

// question is the digest of what a plugin was asked. The path belongs to it: a plugin sees the name
// under which it runs.
func (k *mechanism) question(req sdk.PlanRequest) (string, error) {
	return digest(k.sha256, k.command.Path, k.about.Name, req)
}

// answer is the digest of what a plugin planned.
func (k *mechanism) answer(p sdk.Plan) (string, error) {
	event, err := privacy.Canonical(p.Event)
	if err != nil {
		return "", fmt.Errorf("the plan of %s: %w", k.command.Name, err)
	}
	p.Event = nil
	return digest(string(event), p)
}

// digest is the SHA-256 of some values as JSON.
func digest(parts ...any) (string, error) {
	text, err := json.Marshal(parts)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}
