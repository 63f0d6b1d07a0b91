package privacy

// runIterate answers for an expression that is one last iterate (P9).
func runIterate(e Event, rel Relation, at Point, q query, _ Options) (bracket, *Unsupported) {
	return bracket{}, refuse("", "the expression is not one last iterate")
}

func iterateShift(e LastIterate, rel Relation, here string) (float64, *Unsupported) {
	return 0, refuse(here, "has no bound")
}
