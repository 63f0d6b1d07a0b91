package privacy

// runDistribution evaluates by privacy-loss distributions (P7).
func runDistribution(e Event, rel Relation, at Point, q query, o Options) (bracket, *Unsupported) {
	return bracket{}, refuse("", "has no privacy-loss distribution")
}
