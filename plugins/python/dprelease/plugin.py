"""The plugin's end of the protocol: handshake, go-plugin's services, and Mechanism (specs/plugin-v1.md)."""

import contextlib
import os
import re
import sys
import threading
import traceback
from concurrent import futures

import grpc

from . import wire
from .host import Host
from .model import Refused
from .rows import Rows

_STRINGS = 1024  # bytes of a string of a result, at most
_PIECE = 1 << 20  # bytes of one piece of a result, about


class Bad(Exception):
    """A result that is not what the plan says."""


def run(*mechanisms):
    """See serve."""
    if os.environ.get("DPRELEASE_PLUGIN") != "mechanism-v1":
        sys.exit("This is a plugin of dprelease. It is not run by hand; a job names it.")
    if "1" not in os.environ.get("PLUGIN_PROTOCOL_VERSIONS", "").split(","):
        sys.exit("This plugin speaks version 1 of the protocol, and its host does not.")
    plugin = Plugin(mechanisms)
    threading.Thread(target=_exit_with_host, daemon=True).start()
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
    server.add_generic_rpc_handlers(plugin.handlers())
    path = os.path.join(os.environ["PLUGIN_UNIX_SOCKET_DIR"], "python-plugin")
    server.add_insecure_port("unix:" + path)
    server.start()
    sys.stdout.write("1|1|unix|%s|grpc|\n" % path)
    sys.stdout.flush()
    server.wait_for_termination()


def _exit_with_host():
    """Standard input ends when the host does, whatever the cause."""
    while os.read(0, 4096):
        pass
    os._exit(0)


class Plugin:
    """The services of a plugin."""

    def __init__(self, mechanisms):
        self._all = {}
        for m in mechanisms:
            name = m.describe().name
            if name in self._all or not re.fullmatch("[a-z][a-z0-9_-]{0,63}", name):
                raise ValueError("mechanisms need different names: lower-case words of at most 64 characters")
            self._all[name] = m
        self._noise, self._announced = {}, threading.Condition()

    def handlers(self):
        def service(name, methods):
            made = {}
            for method, (kind, f, request, response) in methods.items():
                make = getattr(grpc, kind + "_rpc_method_handler")
                made[method] = make(f, wire.message(request).FromString, wire.message(response).SerializeToString)
            return grpc.method_handlers_generic_handler(name, made)

        p, h = wire.PACKAGE, "grpc.health.v1.HealthCheck"
        return (
            service(p + "Mechanism", {
                "Describe": ("unary_unary", self.describe, p + "DescribeRequest", p + "DescribeResponse"),
                "Plan": ("unary_unary", self.plan, p + "PlanRequest", p + "PlanResponse"),
                "Release": ("unary_stream", self.release, p + "ReleaseRequest", p + "ReleaseOutput"),
            }),
            service("plugin.GRPCBroker", {"StartStream": ("stream_stream", self.broker, "plugin.ConnInfo", "plugin.ConnInfo")}),
            service("plugin.GRPCController", {"Shutdown": ("unary_unary", self.shutdown, "plugin.Empty", "plugin.Empty")}),
            service("grpc.health.v1.Health", {"Check": ("unary_unary", self.health, h + "Request", h + "Response")}),
        )

    def health(self, request, context):
        if request.service not in ("", "plugin"):
            context.abort(grpc.StatusCode.NOT_FOUND, "no such service")
        return wire.message("grpc.health.v1.HealthCheckResponse")(status=1)

    def shutdown(self, request, context):
        threading.Timer(0.02, os._exit, [0]).start()  # after the answer
        return wire.message("plugin.Empty")()

    def broker(self, announcements, context):
        """Notes where the host serves Noise for each release. The plugin announces nothing."""
        for a in announcements:
            with self._announced:
                self._noise[a.service_id] = a.address
                self._announced.notify_all()
        yield from ()

    def describe(self, request, context):
        out = wire.message(wire.PACKAGE + "DescribeResponse")(lanes=[1])  # LANE_SOCKET
        out.mechanisms.extend(wire.description(m.describe()) for m in self._all.values())
        return out

    def plan(self, request, context):
        out = wire.message(wire.PACKAGE + "PlanResponse")()
        mechanism = self._all.get(request.mechanism)
        if mechanism is None:
            context.abort(grpc.StatusCode.NOT_FOUND, "no such mechanism")
        try:
            out.plan.CopyFrom(wire.plan(mechanism.plan(wire.request(request))))
            return out
        except Refused as e:
            out.refusal = str(e) or "refused"
            return out
        except (Exception, SystemExit):
            traceback.print_exc()  # a host drops it; dprelease plugin check shows it
        context.abort(grpc.StatusCode.INTERNAL, "mechanism failed")

    def release(self, start, context):
        try:
            yield from self._release(start)
            return
        except Bad as e:
            print("release:", e, file=sys.stderr)
            code, text = grpc.StatusCode.FAILED_PRECONDITION, "result does not have the planned shape"
        except (Exception, SystemExit):  # whatever could be said of it may depend on a row: no host of a job shows it
            traceback.print_exc()
            code, text = grpc.StatusCode.ABORTED, "release failed"
        context.abort(code, text)

    def _release(self, start):
        mechanism, request = self._all[start.mechanism], wire.start(start)
        with self._announced:
            if not self._announced.wait_for(lambda: start.noise in self._noise, timeout=10):
                raise TimeoutError("the host announced no noise")
            address = self._noise.pop(start.noise)
        rows = Rows(start.socket, [request.public.column(name) for name in request.plan.columns])
        with contextlib.closing(rows), contextlib.closing(Host(address)) as host:
            result = mechanism.release(request, rows, host)
            rows.drain()
        return pieces(request.plan, result) if request.plan.finish is None else ()  # else the host makes the result


_VALUES = {"float64": float, "int64": int, "string": str}


def pieces(plan, result):
    """The messages of a result, which is a dict of lists, one for each planned column."""
    if not isinstance(result, dict) or set(result) != {f.name for f in plan.output}:
        raise Bad("the result must be a dict with a list for each of %s" % [f.name for f in plan.output])
    for name, v in result.items():
        if len(v) != plan.rows:
            raise Bad("%s has %d values; the plan has %d rows" % (name, len(v), plan.rows))
    columns = {f.name: [_VALUES[f.type](v) for v in result[f.name]] for f in plan.output}
    texts = [max((len(v.encode()) for v in columns[f.name]), default=0) for f in plan.output if f.type == "string"]
    if max(texts, default=0) > _STRINGS:
        raise Bad("a text is longer than %d bytes" % _STRINGS)
    step = max(1, _PIECE // (8 * len(columns) + sum(texts) + 1))
    for at in range(0, plan.rows, step):
        out = wire.message(wire.PACKAGE + "ReleaseOutput")()
        for f in plan.output:
            column = out.columns.add(name=f.name)
            getattr(column, f.type).extend(columns[f.name][at:at + step])
        yield out
