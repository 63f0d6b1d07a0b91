"""How much noise a target needs. The host computes every price itself; a plan that costs more is refused."""

import math
from fractions import Fraction

from .model import ExpectedError

# The part of epsilon that is left to those who charge the noise and round outward.
_ROUNDINGS = 1 - Fraction(1, 2**46)


def laplace_scale(sensitivity, epsilon):
    """The smallest multiple of 2^-20 with sensitivity/scale below epsilon, exactly, and by 2^-46 of it: what a query of that
    L1 sensitivity, in lattice steps, needs. From 2^32 on it is a whole number (specs/plugin-v1.md, section 10)."""
    if not (0 < sensitivity < math.inf) or not (0 < epsilon < math.inf):
        raise ValueError("laplace noise needs a positive finite sensitivity and epsilon")
    ratio = Fraction(sensitivity) / (Fraction(epsilon) * _ROUNDINGS)
    unit = 1 if ratio >= 2**32 else 2**20
    steps = math.floor(ratio * unit) + 1
    scale = float(steps)  # an OverflowError where it cannot be represented
    if scale < steps:
        scale = math.nextafter(scale, math.inf)
    return scale / unit


def laplace_step(size, epsilon):
    """A lattice for a query to which Laplace noise is added: a power of two that fits 2^20 to 2^21 times into size/epsilon.
    0 where there is none."""
    if not size > 0 or not epsilon > 0:
        return 0.0
    x = size / epsilon
    if math.isinf(x) or x < 2.0**-1000:
        return 0.0
    return math.ldexp(1.0, math.frexp(x)[1] - 21)


def laplace_error(field, scale):
    """What is known about a value with Laplace noise of this scale, in the value's own units."""
    return ExpectedError(field, noise_sd=math.sqrt(2) * scale, half95=math.log(20) * scale)


def largest(add_remove, replace_one, relations):
    """The sensitivity that must be protected: the largest under the relations of the sample."""
    return max({"add-remove": add_remove, "replace-one": replace_one}[r] for r in relations)


def gaussian_sigma(sensitivity, epsilon, delta):
    """A sigma of discrete Gaussian noise for a query of that L2 sensitivity, in lattice steps. The noise is
    rho = (s/sigma)^2/2 zero-concentrated (Canonne, Kamath, Steinke 2020), which is (rho + 2 sqrt(rho ln(1/delta)), delta)
    private (Bun, Steinke 2016). The host's accountant finds a smaller price, so a fifth of this noise may be to spare."""
    if not sensitivity > 0 or not epsilon > 0 or not 0 < delta < 1:
        raise ValueError("gaussian noise needs a positive sensitivity and epsilon, and a delta between 0 and 1")
    log = -math.log(delta)
    root = epsilon / (math.sqrt(log + epsilon) + math.sqrt(log))  # sqrt(rho), without a difference
    return sensitivity / (math.sqrt(2) * root) * (1 + 2.0**-30)
