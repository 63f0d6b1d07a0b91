package units

import "math"

// A stream yields records in ascending order of their first words, which are row numbers.
type stream interface {
	// peek returns the row of the next record, or ended.
	peek() (int64, error)
	// next writes the next record.
	next(out []uint64)
}

// ended says that a stream has no more records.
const ended = math.MaxInt64

// merge visits the records of several streams in one order. No two have the same row, and all rows are below the given
// one. It works on windows of rows, and sorts a window by putting each record at the place of its row.
func merge(from []stream, stride int, rows int64, visit func(record []uint64) error) error {
	var records []uint64
	places := make([]int32, min(chunkRows, rows))
	for start := int64(0); start < rows; start += chunkRows {
		records = records[:0]
		n := int32(0)
		for _, s := range from {
			for {
				row, err := s.peek()
				if err != nil {
					return err
				}
				if row >= start+chunkRows {
					break
				}
				if len(records)+stride > cap(records) {
					records = append(make([]uint64, 0, 2*cap(records)+64*stride), records...)
				}
				records = records[:len(records)+stride]
				s.next(records[len(records)-stride:])
				n++
				places[row-start] = n
			}
		}
		if n == 0 {
			continue
		}
		for i, p := range places {
			if p == 0 {
				continue
			}
			places[i] = 0
			if err := visit(records[int(p-1)*stride : int(p)*stride]); err != nil {
				return err
			}
		}
	}
	return nil
}
