"""python3 -m dprelease.check [FOLDER] [FLAGS]: runs the conformance suite on the plugin in a folder, in this process.

A breakpoint() or python3 -m pdb -m dprelease.check stops in your mechanism. The flags are those of dprelease plugin check. The
program dprelease, or the one that the variable DPRELEASE names, makes up the tables and judges the calls."""

import os
import runpy
import struct
import subprocess
import sys
import traceback

import dprelease

from . import rows, wire
from .host import Host, HostError
from .model import Refused
from .plugin import Bad, pieces


class _Pipe:
    """Frames to and from the program: a letter, a length, and what it counts."""

    def __init__(self, process):
        self._from, self._to = process.stdout, process.stdin

    def send(self, kind, body=b""):
        self._to.write(struct.pack("<cI", kind, len(body)) + body)
        self._to.flush()

    def receive(self):
        head = self._from.read(5)
        if len(head) < 5:
            raise SystemExit("dprelease ended: its last words are above")
        kind, size = struct.unpack("<cI", head)
        return kind, self._from.read(size)


class _Host(Host):
    def __init__(self, pipe):
        self._pipe = pipe

    def close(self):
        pass

    def _call(self, method, request, response, fields, event, stream=False):
        m = wire.message(wire.PACKAGE + request)(**fields)
        m.event = event.canonical
        self._pipe.send(b"N", method.encode())
        self._pipe.send(b"M", m.SerializeToString())
        kind, body = self._pipe.receive()
        if kind != b"M":
            raise HostError(body.decode())
        answer = wire.message(wire.PACKAGE + response).FromString(body)
        return [answer] if stream else answer


class _Rows(rows.Rows):
    def __init__(self, pipe, columns):
        self._pipe, self._columns, self.ended = pipe, columns, False

    def __iter__(self):
        rows._load()
        while not self.ended:
            self._pipe.send(b"B")
            kind, body = self._pipe.receive()
            if kind == b"E":
                self.ended = True
            elif kind == b"B":
                yield self._parse(memoryview(body))
            else:
                raise EOFError(body.decode())

    def _parse(self, body):
        count, weighted = struct.unpack_from("<IB", body)
        at, values, valid = 5, [], []
        for c in self._columns:
            some, at = body[at], at + 1
            size = count * (4 if c.type == "category" else 8)
            values.append(rows._view(bytes(body[at:at + size]) if rows.numpy is not None else body[at:at + size], c.type == "category"))
            at += size
            valid.append(body[at:at + (count + 7) // 8] if some else None)
            at += (count + 7) // 8 if some else 0
        weights = rows._view(body[at:], False) if weighted else None
        return rows.Batch(self._columns, count, values, valid, weights)


def _answer(mechanism, pipe, kind, body):
    """Answers a question. What the mechanism raises goes back as a text, with the way to it."""
    if kind == b"D":
        pipe.send(b"D", wire.description(mechanism.describe()).SerializeToString())
    elif kind == b"P":
        out = wire.message(wire.PACKAGE + "PlanResponse")()
        try:
            out.plan.CopyFrom(wire.plan(mechanism.plan(wire.request(wire.message(wire.PACKAGE + "PlanRequest").FromString(body)))))
        except Refused as e:
            out.refusal = str(e) or "refused"
        pipe.send(b"P", out.SerializeToString())
    else:
        request = wire.start(wire.message(wire.PACKAGE + "ReleaseRequest").FromString(body))
        table = _Rows(pipe, [request.public.column(name) for name in request.plan.columns])
        result = mechanism.release(request, table, _Host(pipe))
        table.drain()
        for piece in pieces(request.plan, result) if request.plan.finish is None else ():
            pipe.send(b"O", piece.SerializeToString())
        pipe.send(b"R")


def _check(mechanism, flags):
    program = os.environ.get("DPRELEASE", "dprelease")
    try:
        process = subprocess.Popen([program, "plugin", "check", "--piped"] + flags, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except OSError as e:
        raise SystemExit("%s cannot be started (%s): put it on the PATH, or name it in the variable DPRELEASE" % (program, e.strerror))
    pipe = _Pipe(process)
    while True:
        kind, body = pipe.receive()
        if kind == b"V":
            print(body.decode(), end="")
            return process.wait()
        try:
            _answer(mechanism, pipe, kind, body)
        except Bad as e:
            pipe.send(b"F", str(e).encode())
        except Exception as e:
            way = e.__traceback__.tb_next  # without this function
            pipe.send(b"F", "it raised\n".encode() + "".join(traceback.format_exception(type(e), e, way)).rstrip().encode())


def main(arguments):
    folder = arguments.pop(0) if arguments and not arguments[0].startswith("-") else "."
    found = []
    dprelease.serve = lambda *mechanisms: found.extend(mechanisms)
    runpy.run_path(folder, run_name="__main__")
    if not found:
        raise SystemExit("%s serves no mechanism: its __main__.py calls serve" % folder)
    sys.path.insert(0, folder)
    return max(_check(m, arguments) for m in found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
