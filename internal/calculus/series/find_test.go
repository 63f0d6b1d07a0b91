package series

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// one unit in one period, and room for any matrix.
var single = Units{AtMost: 1}

const roomy = 1 << 30

// parts cuts n periods into ranges of one length.
func parts(n, length int) (ranges []Range) {
	for t := 0; t < n; t += length {
		ranges = append(ranges, Range{t, t + length})
	}
	return ranges
}

func find(t *testing.T, q Question) *Plan {
	t.Helper()
	if q.Units == (Units{}) {
		q.Units = single
	}
	if q.Largest == 0 {
		q.Largest = roomy
	}
	p, err := Find(q)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *Plan) candidate(name string) Candidate {
	i := slices.IndexFunc(p.Tried, func(c Candidate) bool { return c.Name == name })
	if i < 0 {
		return Candidate{}
	}
	return p.Tried[i]
}

// The reference numbers were computed twice, by two programs that share nothing, as the
// optimum over all real matrices. Ours are whole numbers, so they come close and are never
// better, except for the digits that the reference leaves out.
func TestRunningTotalsNearTheOptimum(t *testing.T) {
	for _, c := range []struct {
		periods           int
		rms, sqrtRMS      float64
		worst, sqrtWorst  float64
		independent, near float64
	}{
		{2, 1.144123, 1.185854, 1.154701, 1.250000, 1.4142, 1e-6},
		{4, 1.310929, 1.381417, 1.326123, 1.488281, 2, 1e-6},
		{12, 1.607354, 1.708629, 1.622981, 1.850677, 3.4641, 1e-6},
		{24, 1.807222, 1.922291, 1.821335, 2.074581, 4.8990, 1e-6},
		{36, 1.927089, 2.048831, 1.940134, 2.204741, 6, 1e-6},
		{52, 2.037199, 2.164272, 0, 2.322469, 7.2111, 1e-6},
		{60, 2.080348, 2.209333, 2.092, 2.368222, 7.7460, 5e-4},
		{120, 2.29123, 2.42838, 2.3012, 2.58952, 10.9545, 5e-5},
	} {
		rows := ToDate("running", Range{0, c.periods})
		rms, worst := find(t, Question{Periods: c.periods, Rows: rows, Goal: RMS}), find(t, Question{Periods: c.periods, Rows: rows, Goal: Worst})
		reference(t, "rms", rms.candidate(Optimal).RMS, c.rms, c.near)
		reference(t, "rms, square root", rms.candidate(SquareRoot).RMS, c.sqrtRMS, 2e-2)
		reference(t, "worst", worst.candidate(Optimal).Worst, c.worst, c.near)
		reference(t, "worst, square root", worst.candidate(SquareRoot).Worst, c.sqrtWorst, 2e-2)
		reference(t, "independent", worst.candidate(Alone).Worst, c.independent, 1e-4)
		if rms.Name != Optimal || worst.Name != Optimal {
			t.Errorf("%d periods take %q and %q", c.periods, rms.Name, worst.Name)
		}
	}
}

// reference compares a figure with one that no matrix undercuts: at most 1 % above it.
func reference(t *testing.T, what string, got, want, digits float64) {
	t.Helper()
	if want != 0 && (got < want*(1-1e-5)-digits || got > want*1.01) {
		t.Errorf("%s: %.6f, reference %.6f", what, got, want)
	}
}

// workloads returns sets of tables that agencies publish together, in 36 months.
func workloads() map[string][]Row {
	month := Each("month", 36)
	running := ToDate("running", Range{0, 36})
	quarters, years := Sums("quarter", parts(36, 3)...), Sums("year", parts(36, 12)...)
	calendar := slices.Concat(month, quarters, years)
	return map[string][]Row{
		"running":                          running,
		"month, running":                   slices.Concat(month, running),
		"month, quarter, year":             calendar,
		"month, quarter, year, to date":    slices.Concat(calendar, ToDate("year-to-date", parts(36, 12)...)),
		"month, quarter, year, running":    slices.Concat(calendar, running),
		"month, rolling 12":                slices.Concat(month, Rolling("rolling 12", 36, 12)),
		"month, rolling 3, and rolling 12": slices.Concat(month, Rolling("rolling 3", 36, 3), Rolling("rolling 12", 36, 12)),
	}
}

func TestWorkloadsNearTheOptimum(t *testing.T) {
	all := workloads()
	for name, want := range map[string]struct{ worstAlone, rmsAlone, byItself, rms, worst float64 }{
		"running":                          {6.0000, 4.3012, 6.0000, 1.927089, 1.940134},
		"month, running":                   {6.0000, 3.1225, 6.0828, 1.666799, 1.94074},
		"month, quarter, year":             {3.4641, 1.4552, 1.7321, 1.260252, 1.449138},
		"month, quarter, year, to date":    {3.4641, 1.9827, 3.8730, 1.464466, 1.63236},
		"month, quarter, year, running":    {6.0000, 2.9827, 6.2450, 1.677336, 1.95371},
		"month, rolling 12":                {3.4641, 2.3470, 3.6056, 1.600901, 1.90903},
		"month, rolling 3, and rolling 12": {3.4641, 2.1472, 4.0000, 1.614608, 1.94373},
	} {
		rms, worst := find(t, Question{Periods: 36, Rows: all[name], Goal: RMS}), find(t, Question{Periods: 36, Rows: all[name], Goal: Worst})
		reference(t, name+", rms", rms.candidate(Optimal).RMS, want.rms, 1e-5)
		reference(t, name+", worst", worst.candidate(Optimal).Worst, want.worst, 1e-5)
		reference(t, name+", independent, rms", rms.candidate(Alone).RMS, want.rmsAlone, 1e-4)
		reference(t, name+", independent, worst", rms.candidate(Alone).Worst, want.worstAlone, 1e-4)
		reference(t, name+", each by itself", (&Question{Periods: 36, Rows: all[name], Units: single}).Anew(), want.byItself, 1e-4)
	}
	month := slices.Concat(Each("month", 24), ToDate("running", Range{0, 24}))
	reference(t, "24 months, rms", find(t, Question{Periods: 24, Rows: month, Goal: RMS}).candidate(Optimal).RMS, 1.579927, 1e-5)
	reference(t, "24 months, worst", find(t, Question{Periods: 24, Rows: month, Goal: Worst}).candidate(Optimal).Worst, 1.822225, 1e-5)
}

// A unit in up to k periods: what is taken is at least as good as the best of the reference,
// which knows the square root and its bands.
func TestUnitsInSeveralPeriods(t *testing.T) {
	for _, c := range []struct {
		periods, k, apart              int
		sqrtWorst, sqrtRMS             float64
		bandedWorst, bandedRMS         float64
		independentWorst, indepedenRMS float64
	}{
		{36, 3, 12, 4.5831, 4.2590, 4.4459, 3.6390, 10.3923, 7.4498},
		{36, 6, 6, 8.0381, 7.4697, 7.5305, 5.7829, 14.6969, 10.5357},
		{36, 12, 3, 14.9740, 13.9151, 13.4706, 9.9204, 20.7846, 14.8997},
		{36, 36, 1, 42.9499, 39.9127, 0, 0, 36.0000, 25.8070},
		{60, 5, 12, 7.2789, 6.7906, 6.9126, 5.4323, 17.3205, 12.3491},
		{48, 4, 12, 5.9295, 5.5222, 5.6828, 4.5424, 13.8564, 9.8995},
	} {
		q := Question{Periods: c.periods, Rows: ToDate("running", Range{0, c.periods}), Units: Units{AtMost: c.k, Apart: c.apart}}
		q.Goal = RMS
		rms := find(t, q)
		q.Goal = Worst
		worst := find(t, q)
		near := func(what string, got, want float64) {
			t.Helper()
			if math.Abs(got/want-1) > 0.01 {
				t.Errorf("%d periods, %d, %d apart: %s %.4f, reference %.4f", c.periods, c.k, c.apart, what, got, want)
			}
		}
		near("square root, rms", rms.candidate(SquareRoot).RMS, c.sqrtRMS)
		near("square root, worst", worst.candidate(SquareRoot).Worst, c.sqrtWorst)
		near("independent, rms", rms.candidate(Alone).RMS, c.indepedenRMS)
		near("independent, worst", worst.candidate(Alone).Worst, c.independentWorst)
		if c.apart == 1 {
			if rms.Name != Alone || worst.Name != Alone {
				t.Errorf("a unit in every period: %q and %q are taken", rms.Name, worst.Name)
			}
			continue
		}
		if rms.Name != Banded || worst.Name != Banded {
			t.Errorf("%d periods, %d, %d apart: %q and %q are taken", c.periods, c.k, c.apart, rms.Name, worst.Name)
		}
		// A unit in k periods costs at least what k units do that have one period each, and
		// no matrix does better for those.
		q.Units = single
		q.Goal = RMS
		floorRMS := find(t, q).candidate(Optimal).RMS * math.Sqrt(float64(c.k))
		q.Goal = Worst
		floorWorst := find(t, q).candidate(Optimal).Worst * math.Sqrt(float64(c.k))
		if e := rms.candidate(Banded).RMS; e > c.bandedRMS || e < floorRMS*0.995 {
			t.Errorf("%d periods, %d, %d apart: rms %.4f, reference %.4f, and no matrix reaches %.4f", c.periods, c.k, c.apart, e, c.bandedRMS, floorRMS)
		}
		if e := worst.candidate(Banded).Worst; e > c.bandedWorst || e < floorWorst*0.995 {
			t.Errorf("%d periods, %d, %d apart: worst %.4f, reference %.4f, and no matrix reaches %.4f", c.periods, c.k, c.apart, e, c.bandedWorst, floorWorst)
		}
	}
}

// A month, a quarter and a year are published by many who count a unit several times: the
// bands are made for these rows, and the square root of running totals is no help.
func TestBandsFollowTheRows(t *testing.T) {
	p := find(t, Question{Periods: 36, Rows: workloads()["month, quarter, year"], Goal: RMS, Units: Units{AtMost: 12, Apart: 3}})
	if p.Name != Banded || p.candidate(Banded).RMS > 0.9*p.candidate(Alone).RMS || p.candidate(SquareRoot).RMS < p.candidate(Banded).RMS {
		t.Errorf("%q is taken: %+v", p.Name, p.Tried)
	}
}

// The slope of a mean of powers is what small steps show.
func TestSlopeOfBandedMatrices(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 7))
	q := Question{Periods: 7, Rows: slices.Concat(Each("month", 7), ToDate("running", Range{0, 7}))}
	x := pack(toeplitz(7, 4), 4)
	for i := range x {
		x[i] += 0.2 * r.Float64()
	}
	for _, power := range []float64{1, 2, 8} {
		_, slope := powerMean(q.dense(), x, 4, power)
		for i := range x {
			step := slices.Clone(x)
			step[i] += 1e-6
			up, _ := powerMean(q.dense(), step, 4, power)
			step[i] -= 2e-6
			down, _ := powerMean(q.dense(), step, 4, power)
			if got := (up - down) / 2e-6; math.Abs(got-slope[i]) > 1e-4*(1+math.Abs(got)) {
				t.Errorf("power %v, entry %d: slope %v, and a step shows %v", power, i, slope[i], got)
			}
		}
	}
}

func BenchmarkFind(b *testing.B) {
	rows := ToDate("running", Range{0, 120})
	for name, q := range map[string]Question{
		"running totals of 120 periods":        {Periods: 120, Rows: rows, Goal: RMS, Units: single, Largest: roomy},
		"running totals of 120, worst":         {Periods: 120, Rows: rows, Goal: Worst, Units: single, Largest: roomy},
		"running totals of 120, a unit in ten": {Periods: 120, Rows: rows, Goal: RMS, Units: Units{AtMost: 10, Apart: 12}, Largest: roomy},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Find(q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Rows that leave periods out, rows with weights, little room: each yields a valid plan.
func TestPlansOfOddQuestions(t *testing.T) {
	years := find(t, Question{Periods: 36, Rows: Sums("year", parts(36, 12)...), Goal: RMS})
	if years.Errors[2] > 1.01 {
		t.Errorf("years alone have error %v, and a year measured by itself has 1", years.Errors[2])
	}
	if one := find(t, Question{Periods: 1, Rows: Each("month", 1), Goal: Worst}); one.Charge != 1 || one.Errors[0] != 1 {
		t.Errorf("one period: %+v", one)
	}
	rows := slices.Concat(Weigh(10, Each("month", 36)), ToDate("running", Range{0, 36}))
	even, heavy := find(t, Question{Periods: 36, Rows: Weigh(1, rows), Goal: RMS}), find(t, Question{Periods: 36, Rows: rows, Goal: RMS})
	if heavy.Errors[20] > even.Errors[20]*0.85 || heavy.Errors[70] < even.Errors[70] {
		t.Errorf("a month that matters more: %v instead of %v; the total %v instead of %v", heavy.Errors[20], even.Errors[20], heavy.Errors[70], even.Errors[70])
	}
	for _, room := range []int64{1, 3, 40, 5000} {
		p := find(t, Question{Periods: 36, Rows: ToDate("running", Range{0, 36}), Goal: RMS, Largest: room})
		if p.Matrix.Largest() > room {
			t.Errorf("a run measures up to %d, where there is room for %d", p.Matrix.Largest(), room)
		}
	}
}

func TestQuestionsAreChecked(t *testing.T) {
	good := Question{Periods: 3, Rows: Each("month", 3), Goal: RMS, Units: single, Largest: 10}
	for name, spoil := range map[string]func(*Question){
		"no periods":           func(q *Question) { q.Periods = 0 },
		"too many":             func(q *Question) { q.Periods = MostPeriods + 1 },
		"no rows":              func(q *Question) { q.Rows = nil },
		"no goal":              func(q *Question) { q.Goal = 0 },
		"no periods of a unit": func(q *Question) { q.Units.AtMost = 0 },
		"no room":              func(q *Question) { q.Largest = 0 },
		"no weight":            func(q *Question) { q.Rows = Weigh(0, q.Rows) },
		"endless":              func(q *Question) { q.Rows = Weigh(math.Inf(1), q.Rows) },
		"late period":          func(q *Question) { q.Rows = Each("month", 4) },
		"no term":              func(q *Question) { q.Rows = []Row{{Kind: "month", Weight: 1}} },
	} {
		q := good
		spoil(&q)
		if _, err := Find(q); err == nil {
			t.Errorf("%s: a plan", name)
		}
	}
	if _, err := Find(good); err != nil {
		t.Error(err)
	}
}

// Whatever is asked, what a plan says of itself is so, and asking again gives the same plan.
func TestPlansSayWhatIsSo(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 8))
	taken := map[string]int{}
	for range 60 {
		n := 2 + r.IntN(14)
		q := Question{Periods: n, Goal: RMS + Goal(r.IntN(2)), Units: Units{AtMost: 1 + r.IntN(n), Apart: 1 + r.IntN(4), Revised: r.IntN(2) == 0}}
		for range 1 + r.IntN(2*n) {
			row := Row{Weight: 0.5 + r.Float64()}
			for p := range n {
				if f := r.Int64N(5) - 2; f != 0 {
					row.Terms = append(row.Terms, Term{p, f})
				}
			}
			if row.Terms != nil {
				q.Rows = append(q.Rows, row)
			}
		}
		if q.Rows == nil {
			continue
		}
		p, again := find(t, q), find(t, q)
		if p.Charge != p.Matrix.Charge(q.Units) || p.Name != again.Name || !slices.Equal(p.Errors, again.Errors) {
			t.Fatalf("%+v: %+v, and then %+v", q, p, again)
		}
		taken[p.Name]++
		for i, row := range q.Rows {
			e, err := p.Matrix.Decode(row)
			if want := math.Sqrt(float64(p.Charge)) * e.Deviation(1); err != nil || !(math.Abs(p.Errors[i]/want-1) < 1e-6) {
				t.Fatalf("%+v: row %d has error %v, and its estimate %v (%v)", q, i, p.Errors[i], want, err)
			}
		}
		for _, c := range p.Tried {
			mine, its := p.candidate(p.Name).RMS, c.RMS
			if q.Goal == Worst {
				mine, its = p.candidate(p.Name).Worst, c.Worst
			}
			if its < mine*gain {
				t.Errorf("%+v: %s is taken with %v, and %s has %v", q, p.Name, mine, c.Name, its)
			}
		}
	}
	for _, name := range []string{Alone, Optimal, Banded} {
		if taken[name] == 0 {
			t.Errorf("%s is never taken: %v", name, taken)
		}
	}
}
