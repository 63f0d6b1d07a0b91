"""Events: what is done to the data, as canonical bytes (specs/plugin-v1.md, section 9)."""

import json
import math
from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class Event:
    """An event. Two events are equal if their canonical bytes are."""

    canonical: bytes


def number(x):
    """A float as ECMAScript writes it: the fewest digits that read back as the same."""
    x = float(x)
    if not math.isfinite(x):
        raise ValueError("a number of an event must be finite")
    if x == 0:
        return "-0" if math.copysign(1, x) < 0 else "0"
    sign, digits, exponent = Decimal(repr(x)).normalize().as_tuple()
    text, n = "".join(map(str, digits)), len(digits) + exponent  # the value is 0.TEXT * 10^n
    if 0 < n <= 21:
        text = text[:n].ljust(n, "0") + ("." + text[n:] if len(text) > n else "")
    elif -6 < n <= 0:
        text = "0." + "0" * -n + text
    else:
        text = text[0] + ("." + text[1:] if len(text) > 1 else "") + "e%+d" % (n - 1)
    return "-" * sign + text


def _text(value):
    if isinstance(value, Event):
        return value.canonical.decode()
    if isinstance(value, bool):
        return "true"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, dict):
        return "{" + ",".join('"%s":%s' % (k, _text(v)) for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_text, value)) + "]"
    return json.dumps(value)


def event(kind, fields):
    """An event of any kind. Fields stand in the order of specs/account-v1.md; those that are None are left out."""
    if isinstance(fields, dict):
        fields = {k: v for k, v in fields.items() if v is not None}
    return Event(_text({kind: fields}).encode())


def _sensitivity(add_remove, replace_one):
    out = {"add-remove": add_remove, "replace-one": replace_one}
    return {k: float(v) for k, v in out.items() if v} or None


def discrete_laplace(scale, add_remove=0, replace_one=0):
    """Discrete Laplace noise; the sensitivities are in L1, in lattice steps. Absent ones are 1 and 2."""
    return event("discrete_laplace", {"scale": float(scale), "sensitivity": _sensitivity(add_remove, replace_one)})


def discrete_gaussian(sigma, add_remove=0, replace_one=0, coordinates=0):
    """Discrete Gaussian noise; the sensitivities are in L2. At most so many coordinates differ between neighbours."""
    fields = {"sigma": float(sigma), "sensitivity": _sensitivity(add_remove, replace_one), "coordinates": int(coordinates) or None}
    return event("discrete_gaussian", fields)


def pure(eps):
    """Any eps-differentially private mechanism."""
    return event("pure", {"eps": float(eps)})


def bounded_range(eps):
    """A selection with the exponential mechanism."""
    return event("bounded_range", {"eps": float(eps)})


def approx(eps, delta):
    """Any (eps, delta)-differentially private mechanism."""
    return event("approx", {"eps": float(eps), "delta": float(delta)})


def randomized_response(k, eps0):
    """k-ary randomized response."""
    return event("randomized_response", {"k": int(k), "eps0": float(eps0)})


def compose(*events):
    """All of them, on the same rows."""
    return event("compose", list(events))


def repeat(n, inner):
    """n independent runs of inner."""
    return event("repeat", {"n": int(n), "event": inner})


def poisson(rate, inner):
    """inner on a fresh sample, in which each row is with this probability."""
    return event("poisson", {"rate": float(rate), "event": inner})


def shuffled(n, inner):
    """n users run inner each, and the host permutes what they say."""
    return event("shuffled", {"n": int(n), "event": inner})
