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
			out := &NoiseColumns{Columns: n.Columns, Units: n.Units}
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
			out := sdk.NoiseColumns{Columns: n.GetColumns(), Units: n.GetUnits()}
			if q := n.GetQuantiles(); q != nil {
				out.Quantiles = &sdk.Quantiles{Edges: q.GetEdges(), At: q.GetAt()}
			}
			return out
		}),
	}
}

func fromQueries(all []sdk.Query) []*Query {
	return each(all, func(q sdk.Query) *Query {
		return &Query{
			Cells: each(q.Cells, func(s sdk.Split) *Split { return &Split{Value: s.Value, Texts: s.Texts, Count: s.Count} }),
			Coordinates: each(q.Coordinates, func(c sdk.Coordinate) *Coordinate {
				return &Coordinate{Value: c.Value, Low: c.Low, High: c.High, Lattice: c.Lattice}
			}),
			Norm: q.Norm,
		}
	})
}

// toQueries is the inverse of fromQueries.
func toQueries(all []*Query) []sdk.Query {
	return each(all, func(q *Query) sdk.Query {
		return sdk.Query{
			Cells: each(q.GetCells(), func(s *Split) sdk.Split {
				return sdk.Split{Value: s.GetValue(), Texts: s.GetTexts(), Count: s.GetCount()}
			}),
			Coordinates: each(q.GetCoordinates(), func(c *Coordinate) sdk.Coordinate {
				return sdk.Coordinate{Value: c.GetValue(), Low: c.GetLow(), High: c.GetHigh(), Lattice: c.GetLattice()}
			}),
			Norm: q.GetNorm(),
		}
	})
}
