package planned

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// Digest names what the plan asks of the mechanisms. Two machines that make the same plan of a job agree on it.
func (p *Plan) Digest() (string, error) {
	var all struct {
		Requests [][]any
		Frames   [][]samplers.Unit // machines number the units by their place
	}
	for _, d := range p.Draws {
		var frame []samplers.Unit
		if framed, ok := d.Design.(samplers.Framed); ok && framed.Frame() != nil {
			for u := range int32(framed.Frame().Len()) {
				frame = append(frame, framed.Frame().Unit(u))
			}
		}
		all.Frames = append(all.Frames, frame)
		for _, r := range d.Releases {
			event, err := privacy.Canonical(r.Plan.Event)
			if err != nil {
				return "", err
			}
			all.Requests = append(all.Requests, []any{r.Job.Name, string(r.Params), string(event), r.Plan.Columns, r.Plan.Rows, r.Apart,
				r.Plan.Queries, r.Target})
		}
	}
	text, err := json.Marshal(all)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}
