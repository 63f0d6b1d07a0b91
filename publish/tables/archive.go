package tables

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"strings"
)

// part is one file of a workbook.
type part struct{ name, text string }

// archive packs the parts of a workbook. It has no time, so that the same parts give the same bytes.
func archive(parts []part) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, p := range parts {
		f, err := w.CreateHeader(&zip.FileHeader{Name: p.name, Method: zip.Deflate})
		if err != nil {
			return nil, err
		}
		if _, err := f.Write([]byte(p.text)); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// escaped writes a text for XML. What XML cannot hold becomes U+FFFD.
func escaped(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // a strings.Builder takes everything
	return out.String()
}

const xmlHead = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"

// decimals returns the number format of a number, by the digits behind its point.
func decimals(text string) int {
	if strings.ContainsAny(text, "eE") {
		return scientific
	}
	_, fraction, _ := strings.Cut(text, ".")
	return min(len(fraction), mostDecimals)
}

// The number formats of a workbook: with 0 to mostDecimals digits behind the point, and with an exponent.
const (
	mostDecimals = 15
	scientific   = mostDecimals + 1
)
