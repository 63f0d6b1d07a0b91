"""The messages of the protocol, and how they become plain data."""

import dataclasses
import json
import pkgutil
import typing

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from . import model
from .events import Event

# A pool of its own: other code may have other versions of the same messages.
_POOL = descriptor_pool.DescriptorPool()
for _file in descriptor_pb2.FileDescriptorSet.FromString(pkgutil.get_data(__package__, "protocol.binpb")).file:
    _POOL.AddSerializedFile(_file.SerializeToString())

PACKAGE = "dprelease.plugin.v1."


def message(name):
    """The class of a message, by its full name."""
    found = _POOL.FindMessageTypeByName(name)
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(found)
    return message_factory.MessageFactory(_POOL).GetPrototype(found)


def _word(value):
    """"replace-one" for RELATION_REPLACE_ONE, and so on: the last words of the value's name."""
    prefix = "".join("_" + c if c.isupper() else c for c in value.type.name).lstrip("_").upper() + "_"
    return value.name[len(prefix):].lower().replace("_", "-")


_words = {}  # by enumeration: its numbers by their words


def _enum(fd):
    if fd.enum_type.full_name not in _words:
        _words[fd.enum_type.full_name] = {_word(v): v.number for v in fd.enum_type.values if v.number}
    return _words[fd.enum_type.full_name]


def _repeated(fd):
    return fd.is_repeated if hasattr(fd, "is_repeated") else fd.label == fd.LABEL_REPEATED  # the second is older


def fill(m, data):
    """Writes plain data into a message whose fields have the same names."""
    for f in dataclasses.fields(data):
        value, fd = getattr(data, f.name), m.DESCRIPTOR.fields_by_name[f.name]
        if value is None:
            continue
        if f.name in ("params", "params_schema"):
            m.__setattr__(f.name, json.dumps(value).encode())
        elif isinstance(value, Event):
            m.event = value.canonical
        elif fd.type == fd.TYPE_MESSAGE and _repeated(fd):
            for v in value:
                fill(getattr(m, f.name).add(), v)
        elif fd.type == fd.TYPE_MESSAGE:
            getattr(m, f.name).SetInParent()
            fill(getattr(m, f.name), value)
        elif fd.type == fd.TYPE_ENUM and _repeated(fd):
            getattr(m, f.name).extend(_enum(fd)[v] for v in value)
        elif fd.type == fd.TYPE_ENUM:
            if value not in _enum(fd):
                raise ValueError("%s of %s: %r is none of %s" % (f.name, type(data).__name__, value, ", ".join(sorted(_enum(fd)))))
            setattr(m, f.name, _enum(fd)[value])
        elif _repeated(fd):
            getattr(m, f.name).extend(value)
        else:
            setattr(m, f.name, value)
    return m


def plain(cls, m):
    """Reads a message into plain data of a class. A word that this SDK does not know is a KeyError."""
    kinds, out = typing.get_type_hints(cls), {}
    for f in dataclasses.fields(cls):
        value, fd = getattr(m, f.name), m.DESCRIPTOR.fields_by_name[f.name]
        if f.name == "params":
            value = json.loads(value or b"{}")
        elif kinds[f.name] is Event:
            value = Event(value)
        elif fd.type == fd.TYPE_MESSAGE and _repeated(fd):
            value = [plain(typing.get_args(kinds[f.name])[0], v) for v in value]
        elif fd.type == fd.TYPE_MESSAGE:
            kind = [k for k in typing.get_args(kinds[f.name]) or [kinds[f.name]] if k is not type(None)][0]
            value = plain(kind, value) if m.HasField(f.name) else None
        elif fd.type == fd.TYPE_ENUM:
            words = {n: w for w, n in _enum(fd).items()}
            value = [words[v] for v in value] if _repeated(fd) else words[value]
        elif _repeated(fd):
            value = list(value)
        if value is not None:
            out[f.name] = value
    return cls(**out)


def _returned(value, kind, method):
    if not isinstance(value, kind):
        raise TypeError("%s returned %r, not a %s" % (method, value, kind.__name__))
    return value


def description(d):
    _returned(d, model.Description, "describe")
    return fill(message(PACKAGE + "Description")(), d)


def plan(p):
    _returned(p, model.Plan, "plan")
    return fill(message(PACKAGE + "Plan")(), p)


def request(m):
    return plain(model.PlanRequest, m)


def start(m):
    return plain(model.ReleaseRequest, m)
