"""What the host does for a mechanism during a release."""

import grpc

from . import wire

MOST = 64 << 20  # bytes of a message of the service Noise


class HostError(Exception):
    """The host refused a noise call. The release has failed, whatever the mechanism does."""


class Host:
    """Every call names the event that it causes: the next leaf of the plan's event. Any other call fails the release."""

    def __init__(self, address):
        limits = [("grpc.max_receive_message_length", MOST), ("grpc.max_send_message_length", MOST)]
        self._channel = grpc.insecure_channel("unix:" + address, options=limits)

    def close(self):
        self._channel.close()

    def _call(self, method, request, response, fields, event, stream=False):
        m = wire.message(wire.PACKAGE + request)(**fields)
        m.event = event.canonical
        kind = self._channel.unary_stream if stream else self._channel.unary_unary
        call = kind("/" + wire.PACKAGE + "Noise/" + method, request_serializer=lambda m: m.SerializeToString(),
                    response_deserializer=wire.message(wire.PACKAGE + response).FromString)
        try:
            return list(call(m)) if stream else call(m)
        except grpc.RpcError:
            raise HostError("host refused the noise call") from None

    def _add(self, method, event, values):
        values = [int(v) for v in values]
        out = list(self._call(method, "AddNoiseRequest", "AddNoiseResponse", {"values": values}, event).values)
        if len(out) != len(values):
            raise HostError("host refused the noise call")
        return out

    def add_laplace(self, event, values):
        """The values, whole numbers, each with discrete Laplace noise."""
        return self._add("AddLaplace", event, values)

    def add_gaussian(self, event, values):
        """The values, whole numbers, each with discrete Gaussian noise."""
        return self._add("AddGaussian", event, values)

    def smooth_laplace(self, event, value, scale, granularity):
        """value + scale * Lap(1) on the lattice of a planned output column. The scale may depend on rows."""
        fields = {"value": float(value), "scale": float(scale), "granularity": float(granularity)}
        return self._call("SmoothLaplace", "SmoothLaplaceRequest", "SmoothLaplaceResponse", fields, event).value

    def select(self, event, pieces, rate):
        """A point with probability in proportion to exp(-rate * score); pieces are (lo, hi, score) and tile the range."""
        piece = wire.message(wire.PACKAGE + "Piece")
        fields = {"pieces": [piece(lo=int(lo), hi=int(hi), score=int(score)) for lo, hi, score in pieces], "rate": float(rate)}
        return self._call("Select", "SelectRequest", "SelectResponse", fields, event).point

    def randomize_categories(self, event, codes):
        """Every code after randomized response."""
        fields = {"codes": [int(c) for c in codes]}
        out = list(self._call("RandomizeCategories", "RandomizeRequest", "RandomizeResponse", fields, event).codes)
        if len(out) != len(codes):
            raise HostError("host refused the noise call")
        return out

    def next_sample(self, event):
        """A fresh sample of the rows, as ascending indices. It comes after the last row has been read."""
        rows, at = [], -1
        for m in self._call("NextSample", "NextSampleRequest", "NextSampleResponse", {}, event, stream=True):
            for gap in m.gaps:
                at += 1 + gap
                rows.append(at)
        return rows
