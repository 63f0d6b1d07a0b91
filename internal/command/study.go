package command

import "github.com/spf13/pflag"

// Study is one question to the planner, as the flags of plan put it.
type Study struct {
	Sweep, Solve, Over string
	Compare            bool
	Release            string
	Points             int
	Values             []float64
	Repetitions        int
	Page               string
}

// Flags declares the flags of a study, and returns their names.
func (s *Study) Flags(f *pflag.FlagSet) (names []string) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	own.StringVar(&s.Sweep, "sweep", "", "plan the release along rate, n or epsilon")
	own.StringVar(&s.Solve, "solve", "", "find what reaches an accuracy, such as 'rse<2%', 'moe<1%', 'se<5', 'noise<1' or 'half-kept<50'")
	own.StringVar(&s.Over, "over", "epsilon", "with --solve: what to find, epsilon, rho, n, rate or budget")
	own.BoolVar(&s.Compare, "compare", false, "compare designs at equal (ε, δ)")
	own.StringVar(&s.Release, "release", "", "the release to study (default: the first one from a sample)")
	own.IntVar(&s.Points, "points", 0, "with --sweep: how many values (default 12)")
	own.Float64SliceVar(&s.Values, "values", nil, "with --sweep: the values themselves")
	own.IntVar(&s.Repetitions, "repetitions", 400, "of each simulation")
	own.StringVar(&s.Page, "html", "", "also write the answer as an HTML page")
	own.VisitAll(func(x *pflag.Flag) { names = append(names, x.Name) })
	f.AddFlagSet(own)
	return names
}
