"""The row stream: an Arrow IPC stream over a unix socket (specs/plugin-v1.md, section 6). It has a schema that follows from the
plan, no dictionaries and no compression, so a reader needs the places of a few numbers in each message. Columns are views of
what was received: of numpy where it is there, and of the standard library otherwise."""

import socket
import struct

numpy = None  # loaded with the first rows: a process that only plans has no use for it
END = b"\xff\xff\xff\xff\0\0\0\0"
_SCHEMA, _RECORDS = 1, 3


class Batch:
    """Some rows. It is valid until the next one is read."""

    def __init__(self, columns, rows, values, valid, weights):
        self.rows = rows
        self.weights = weights  # None where all are equal
        self._at = {c.name: i for i, c in enumerate(columns)}
        self._values, self._valid = values, valid

    def __len__(self):
        return self.rows

    def __getitem__(self, column):
        """The values of a column, by its name or its place in the plan: floats, or codes into its domain, -1 where missing."""
        return self._values[self._at.get(column, column)]

    def valid(self, column):
        """Which numbers of a column are present, one truth value a row; None where all are. A value that is not present
        must not be read."""
        bits = self._valid[self._at.get(column, column)]
        if bits is None:
            return None
        if numpy is not None:
            return numpy.unpackbits(numpy.frombuffer(bits, numpy.uint8), count=self.rows, bitorder="little").view(bool)
        return [bits[i >> 3] >> (i & 7) & 1 == 1 for i in range(self.rows)]


class Rows:
    """The rows of a release, in the order of the table: iterate over its batches, once."""

    def __init__(self, path, columns):
        self._columns, self._buffer, self.ended = columns, bytearray(), False
        self._socket, self._begun = socket.socket(socket.AF_UNIX), False
        self._socket.connect(path)

    def close(self):
        self._socket.close()

    def __iter__(self):
        if not self._begun and self._message()[0] != _SCHEMA:
            raise ValueError("the row stream does not begin with a schema")
        self._begun = True
        while not self.ended:
            kind, meta, header = self._message()
            if kind == _RECORDS:
                _load()
                yield self._batch(meta, header)
            elif not self.ended:
                raise ValueError("the row stream holds something that is not rows")

    def drain(self):
        """Reads what was left unread: how many rows a mechanism looked at must not show."""
        for _ in self:
            pass

    def _read(self, into):
        """Fills a buffer. A stream that is cut off is never taken for the whole."""
        while len(into):
            n = self._socket.recv_into(into, len(into), socket.MSG_WAITALL)
            if n == 0:
                raise EOFError("the row stream was cut off")
            into = into[n:]

    def _message(self):
        """The next message: its kind, its metadata, and where in it the header is. The body is in the buffer."""
        head = bytearray(8)
        self._read(memoryview(head))
        if head == END:
            self.ended = True
            return 0, None, 0
        mark, size = struct.unpack("<Ii", head)
        if mark != 0xFFFFFFFF or size < 0:
            raise ValueError("this is not a row stream")
        meta = bytearray(size)
        self._read(memoryview(meta))
        table = struct.unpack_from("<I", meta)[0]
        kind = _number(meta, table, 1, "<B")
        header = _offset(meta, table, 2)
        body = _number(meta, table, 3, "<q")
        if len(self._buffer) < body:
            self._buffer = bytearray(body)
        self._read(memoryview(self._buffer)[:body])
        return kind, meta, header

    def _batch(self, meta, header):
        rows = _number(meta, header, 0, "<q")
        at = _offset(meta, header, 2)  # a vector of pairs (offset, length), two for each column: validity and values
        count = struct.unpack_from("<I", meta, at)[0]
        pairs = [struct.unpack_from("<qq", meta, at + 4 + 16 * i) for i in range(count)]
        body, values, valid = memoryview(self._buffer), [], []
        if count // 2 - len(self._columns) not in (0, 1):
            raise ValueError("the rows do not have the columns of the plan")
        for i in range(count // 2):
            category = i < len(self._columns) and self._columns[i].type == "category"
            (v, n), (o, _) = pairs[2 * i], pairs[2 * i + 1]
            values.append(_view(body[o:o + rows * (4 if category else 8)], category))
            valid.append(body[v:v + n] if n and not category else None)
        weights = values.pop() if count // 2 > len(self._columns) else None
        return Batch(self._columns, rows, values, valid, weights)


def _load():
    global numpy
    try:
        import numpy
    except ImportError:
        pass


def _view(data, category):
    if numpy is not None:
        out = numpy.frombuffer(data, "<i4" if category else "<f8")
        out.flags.writeable = False
        return out
    return data.cast("i" if category else "d")


# A table of a flatbuffer begins with the distance back to a list of places: where each field is, 0 for none.


def _place(meta, table, i):
    places = table - struct.unpack_from("<i", meta, table)[0]
    if 4 + 2 * i >= struct.unpack_from("<H", meta, places)[0]:
        return 0
    at = struct.unpack_from("<H", meta, places + 4 + 2 * i)[0]
    return table + at if at else 0


def _number(meta, table, i, form):
    at = _place(meta, table, i)
    return struct.unpack_from(form, meta, at)[0] if at else 0


def _offset(meta, table, i):
    at = _place(meta, table, i)
    if not at:
        raise ValueError("the row stream lacks a part")
    return at + struct.unpack_from("<I", meta, at)[0]
