package pipeline

import (
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/job"
)

// A slice that has not begun is a slip, unless the job says otherwise; a text that is no time is
// no question.
func TestSlicesBegin(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for is, fine := range map[string]bool{
		"2026-11": true, "2026-12": false, "2027-01-01": false, "2026-11-24": true, "2026-11-25": false, "2026-Q4": true, "2027-Q1": false,
		"2027-Q5": true, "2030": true, "north": true, "2026-12-01T00:00:00": false, "2026-11-23T10:00:00Z": true,
	} {
		j := &Job{Dataset: job.Dataset{Slice: &job.Slice{Column: "month", Is: is}}}
		if err := begun(j, now); (err == nil) != fine {
			t.Errorf("%s: %v", is, err)
		}
		j.Dataset.Slice.Future = true
		if err := begun(j, now); err != nil {
			t.Errorf("%s is allowed: %v", is, err)
		}
	}
	// It has begun where the clocks are 14 hours ahead, and not a second before.
	for at, fine := range map[time.Time]bool{
		time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC): true, time.Date(2026, 11, 23, 9, 59, 59, 0, time.UTC): false,
	} {
		j := &Job{Dataset: job.Dataset{Slice: &job.Slice{Column: "day", Is: "2026-11-24"}}}
		if err := begun(j, at); (err == nil) != fine {
			t.Errorf("at %v: %v", at, err)
		}
	}
	if err := begun(&Job{}, now); err != nil {
		t.Error(err)
	}
}
