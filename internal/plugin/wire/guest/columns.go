package guest

import (
	"encoding/binary"
	"errors"
	"io"
	"unsafe"

	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Bounds on a layout.
const (
	maxSlots    = 64
	maxSlotRows = 1 << 20
)

var errColumns = errors.New("shared columns are not as announced")

// ParseAnnouncement returns the layout that the host announced for these columns.
func ParseAnnouncement(b []byte, columns []sdk.Column) (wire.Layout, error) {
	if len(b) != wire.AnnouncementBytes {
		return wire.Layout{}, errColumns
	}
	slots, rows := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	if slots < 1 || slots > maxSlots || rows < 64 || rows > maxSlotRows || rows%64 != 0 {
		return wire.Layout{}, errColumns
	}
	return wire.MakeLayout(columns, int(slots), int(rows)), nil
}

// Reader is the plugin's end of the lane of columns.
type Reader struct {
	conn   io.ReadWriter
	mem    []byte
	layout wire.Layout
	next   int
	held   bool // the plugin still looks at the last slot
	batch  sdk.Batch
	err    error
}

// NewReader returns a reader of mem, which must have the layout's size.
func NewReader(conn io.ReadWriter, mem []byte, layout wire.Layout) (*Reader, error) {
	if len(mem) != layout.Size() {
		return nil, errColumns
	}
	return &Reader{conn: conn, mem: mem, layout: layout, batch: sdk.Batch{Columns: make([]sdk.Values, len(layout.Columns))}}, nil
}

// Next returns the next batch, or io.EOF after the last. The batch is a view of the
// shared memory and valid until the next call. If rows end before the host has said so,
// Next returns io.ErrUnexpectedEOF, so that nobody takes half of the rows for all.
func (r *Reader) Next() (*sdk.Batch, error) {
	if r.err == nil {
		r.err = r.advance()
	}
	if r.err != nil {
		return nil, r.err
	}
	return &r.batch, nil
}

func (r *Reader) advance() error {
	if r.held {
		if _, err := r.conn.Write([]byte{0}); err != nil {
			return err
		}
		r.held = false
	}
	var head [4]byte
	if _, err := io.ReadFull(r.conn, head[:]); err == io.EOF {
		return io.ErrUnexpectedEOF
	} else if err != nil {
		return err
	}
	said := binary.LittleEndian.Uint32(head[:])
	switch {
	case said == 0:
		return io.EOF
	case said > uint32(r.layout.Rows):
		return errColumns
	}
	rows := int(said)
	l, slot := r.layout, r.layout.Slot(r.mem, r.next)
	r.batch.Rows, r.batch.Weights = rows, nil
	for i, c := range l.Columns {
		if c.Type == sdk.Category {
			r.batch.Columns[i] = sdk.Values{Codes: view[int32](slot[l.At[i]:], rows)}
			continue
		}
		v := sdk.Values{Float64: view[float64](slot[l.At[i]:], rows)}
		if slot[i] == 1 {
			at := l.At[i] + 8*l.Rows
			v.Valid = slot[at : at+(rows+7)/8 : at+(rows+7)/8]
		}
		r.batch.Columns[i] = v
	}
	if n := len(l.Columns); slot[n] == 1 {
		r.batch.Weights = view[float64](slot[l.At[n]:], rows)
	}
	r.next, r.held = (r.next+1)%l.Slots, true
	return nil
}

// view returns the first n numbers in b. It is aligned: slots and columns begin at
// multiples of 8 in memory that begins at a page.
func view[T float64 | int32](b []byte, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
}
