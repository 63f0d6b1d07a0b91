package privacy

// runShuffle answers for an expression that is one shuffle (P8).
func runShuffle(e Event, rel Relation, at Point, q query, _ Options) (bracket, *Unsupported) {
	return bracket{}, refuse("", "the expression is not one shuffle of local reports")
}

func shuffledProfile(e Shuffled, rel Relation, here string) (profile, *Unsupported) {
	if rel != ReplaceOne {
		return profile{}, refuse(here, replaceOnly)
	}
	// Shuffling is post-processing: the local guarantee of each user stands.
	return basic(e.Event, ReplaceOne, here+".event", 1)
}
