package pipeline

import (
	"fmt"
	"time"
)

// begun refuses a slice that has not begun anywhere on Earth: nothing is in it yet, and what a run
// spends on it is gone. It reads the job and the clock alone.
func begun(j *Job, now time.Time) error {
	s := j.Dataset.Slice
	if s == nil || s.Future {
		return nil
	}
	const farthest = 14 * time.Hour // ahead of UTC
	at, known := s.Begins()
	if !known || !at.After(now.Add(farthest)) {
		return nil
	}
	return j.Wrong("dataset.slice.is", fmt.Sprintf("is %s, which has not begun: today is %s", s.Is, now.UTC().Format(time.DateOnly)),
		"mend the slip, or say future: true in dataset.slice")
}
