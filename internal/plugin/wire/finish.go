package wire

import "github.com/dprelease/dprelease/plugins/sdk"

func fromFinish(f *sdk.Finish) *Finish {
	if f == nil {
		return nil
	}
	return &Finish{
		Constants: each(f.Constants, func(c sdk.Constant) *Constant {
			return &Constant{Name: c.Name, Numbers: c.Numbers, Texts: c.Texts}
		}),
		Noise: each(f.Noise, func(n sdk.NoiseColumns) *NoiseColumns {
			out := &NoiseColumns{Columns: n.Columns}
			if q := n.Quantiles; q != nil {
				out.Quantiles = &Quantiles{Edges: q.Edges, At: q.At}
			}
			return out
		}),
	}
}

// toFinish is the inverse of fromFinish.
func toFinish(m *Finish) *sdk.Finish {
	if m == nil {
		return nil
	}
	return &sdk.Finish{
		Constants: each(m.GetConstants(), func(c *Constant) sdk.Constant {
			return sdk.Constant{Name: c.GetName(), Numbers: c.GetNumbers(), Texts: c.GetTexts()}
		}),
		Noise: each(m.GetNoise(), func(n *NoiseColumns) sdk.NoiseColumns {
			out := sdk.NoiseColumns{Columns: n.GetColumns()}
			if q := n.GetQuantiles(); q != nil {
				out.Quantiles = &sdk.Quantiles{Edges: q.GetEdges(), At: q.GetAt()}
			}
			return out
		}),
	}
}
