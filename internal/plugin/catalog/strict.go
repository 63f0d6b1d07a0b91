package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

var errFields = errors.New("a field is there twice, or is not spelled in lower case")

// distinct returns an error if an object of a JSON text has a field twice. Readers differ in which of the two
// they take, so what one verifies another would not use. Names of fields are in lower case, because Go
// takes them in any; the names of files are as they are.
func distinct(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if err := values(d, false); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows")
	}
	return nil
}

// values reads one value. The names of an object that maps files may have capitals.
func values(d *json.Decoder, ofFiles bool) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	known := map[string]bool{}
	switch t {
	case json.Delim('['):
		for d.More() {
			if err := values(d, false); err != nil {
				return err
			}
		}
	case json.Delim('{'):
		for d.More() {
			t, err := d.Token()
			if err != nil {
				return err
			}
			name, ok := t.(string)
			if !ok || known[name] || !ofFiles && name != strings.ToLower(name) {
				return errFields
			}
			known[name] = true
			if err := values(d, name == "files" && !ofFiles); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	_, err = d.Token() // the end of the list or object
	return err
}
