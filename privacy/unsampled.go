package privacy

// WithoutSampling is the event had everybody been in every sample, and had
// every report been seen with its sender; and whether that is another event. It is
// for comparison: nothing is charged by it.
func WithoutSampling(e Event) (Event, bool) {
	switch e := e.(type) {
	case Sampling:
		inner, _ := WithoutSampling(e.Inner())
		return inner, true
	case Shuffled:
		inner, _ := WithoutSampling(e.Event)
		return inner, true
	case Repeat:
		inner, changed := WithoutSampling(e.Event)
		e.Event = inner
		return e, changed
	case Compose:
		out := Compose{Events: make([]Event, len(e.Events))}
		any := false
		for i, item := range e.Events {
			inner, changed := WithoutSampling(item)
			out.Events[i], any = inner, any || changed
		}
		return out, any
	}
	return e, false
}
