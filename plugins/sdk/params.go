package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// DecodeParams reads the parameters of a request into a struct. A key that the struct does
// not have is an error, and so is anything after the parameters: the host holds them to
// the mechanism's schema, and a mechanism that is called without a host is as strict.
func DecodeParams(raw json.RawMessage, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("there is something after them")
		}
	}
	if err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	return nil
}

// Names is a parameter that is a name or a list of names.
type Names []string

// UnmarshalJSON reads either.
func (n *Names) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*n = Names{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(n))
}
