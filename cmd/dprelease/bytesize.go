package main

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// byteSize is a flag for a number of bytes: 512MB, 4GB.
type byteSize int64

var byteUnits = []struct {
	name string
	size int64
}{{"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}}

func (b *byteSize) Type() string { return "size" }

func (b *byteSize) String() string {
	for _, u := range byteUnits {
		if n := int64(*b); n != 0 && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*b), 10)
}

func (b *byteSize) Set(text string) error {
	unit := int64(1)
	number := strings.ToUpper(strings.TrimSpace(text))
	for _, u := range byteUnits {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.size
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 || n > math.MaxInt64/unit {
		return errors.New("must be a whole number of bytes, KB, MB or GB, such as 512MB")
	}
	*b = byteSize(n * unit)
	return nil
}
