package main

import (
	"bytes"
	"encoding/base64"
	"regexp"
)

var coded = regexp.MustCompile(`[A-Za-z0-9+/]{16,}`)

// everyBase64 is a text followed by all that stands in it in base64, to some depth.
func everyBase64(text []byte, depth int) []byte {
	out := bytes.Clone(text)
	if depth == 0 {
		return out
	}
	for _, run := range coded.FindAll(text, -1) {
		for shift := range 4 {
			part := run[min(shift, len(run)):]
			decoded, _ := base64.RawStdEncoding.DecodeString(string(part[:len(part)/4*4]))
			out = append(append(out, '\n'), everyBase64(decoded, depth-1)...)
		}
	}
	return out
}
