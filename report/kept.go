package report

import "fmt"

// addKept says of every draw that several jobs use what it has cost so far, and of
// the one that made the table.
func (v *view) addKept(r *Report) {
	if r.Collection != nil {
		v.Kept = append(v.Kept, "The table is itself a sample, drawn once for all jobs on it: "+keptWords(r.Collection))
	}
	for _, d := range r.Draws[:min(len(r.Draws), maxDraws)] {
		switch k := d.Kept; {
		case k == nil:
		case k.Reused:
			v.Kept = append(v.Kept, fmt.Sprintf("The draw %s is the sample %s, which an earlier job drew and kept: %s", d.Name, k.ID, keptWords(k)))
		default:
			v.Kept = append(v.Kept, fmt.Sprintf("The draw %s is kept for later jobs, as sample %s: %s", d.Name, k.ID, keptWords(k)))
		}
	}
	if len(v.Kept) > 0 {
		v.Kept = append(v.Kept, "The curves below show such a draw with everything that was ever released from it, which is more than this job is charged.")
	}
}

// keptWords are the figures of a draw that several jobs use.
func keptWords(k *Kept) string {
	on := func(e, d float64) string { return point(e, d, Spent) }
	return fmt.Sprintf("%s was spent on it before, %s with this job; it costs the population %s in all, %s before, and the difference of %s is charged.",
		on(k.SampleBefore.Epsilon, k.SampleBefore.Delta), on(k.SampleAfter.Epsilon, k.SampleAfter.Delta),
		on(k.After.Epsilon, k.After.Delta), on(k.Before.Epsilon, k.Before.Delta), on(k.Charged.Epsilon, k.Charged.Delta))
}
