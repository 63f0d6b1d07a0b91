package expr

import (
	"fmt"

	"github.com/dprelease/dprelease/privacy"
)

// Encode returns the canonical bytes of an event ([privacy.Canonical]), which Parse
// reads back. What Parse would refuse is an error.
func Encode(e privacy.Event) ([]byte, error) {
	text, err := privacy.Canonical(e)
	if err != nil {
		return nil, err
	}
	// Parse knows all rules for what an event may hold.
	if _, problems := Parse(text, ""); problems != nil {
		return nil, fmt.Errorf("%s: %s", problems[0].Path, problems[0].Message)
	}
	return text, nil
}
