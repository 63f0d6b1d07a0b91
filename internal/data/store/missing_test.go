package store

import (
	"errors"
	"testing"
)

// Without its companion beside it the program reads no object storage, whatever the PATH holds, and says what is missing.
func TestWithoutTheCompanion(t *testing.T) {
	if _, _, err := Open(t.Context(), "s3://bucket/key"); !errors.Is(err, ErrProgram) {
		t.Errorf("%v", err)
	}
}
