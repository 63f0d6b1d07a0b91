"""private-pgm: all tables of two columns, measured with noise and made to agree by estimation."""
import itertools
import math
import os
import warnings

warnings.filterwarnings("ignore")
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

jax.config.update("jax_enable_x64", True)
import mbi

from world import *


def sigma(sensitivity):
    """Normal noise for (ε, δ), exactly (Balle and Wang 2018)."""
    def delta(s):
        return norm.cdf(sensitivity / 2 / s - EPSILON * s / sensitivity) - math.exp(EPSILON) * norm.cdf(-sensitivity / 2 / s - EPSILON * s / sensitivity)

    return brentq(lambda s: delta(s) - DELTA, 1e-3, 1e6 * sensitivity)


def pairs():
    domain = mbi.Domain(COLUMNS, SIZES)
    codes = [np.array(list(map(int, column))) for column in table("persons", *COLUMNS)]
    cliques = list(itertools.combinations(COLUMNS, 2))
    exact = {}
    for a, b in itertools.combinations(range(len(COLUMNS)), 2):
        exact[COLUMNS[a], COLUMNS[b]] = np.histogram2d(codes[a], codes[b], [np.arange(SIZES[a] + 1), np.arange(SIZES[b] + 1)])[0].flatten()
    rng = np.random.default_rng()
    scale = sigma(math.sqrt(len(cliques))) if DELTA else len(cliques) / EPSILON
    draw = rng.normal if DELTA else rng.laplace

    steps = 200 if EPSILON < 1 else 500  # of its default of 1,000; more fit the noise

    def once():
        measured = [mbi.LinearMeasurement(exact[c] + draw(0, scale, exact[c].size), c, stddev=scale if DELTA else math.sqrt(2) * scale)
                    for c in cliques]
        model = mbi.estimation.MirrorDescent().estimate(domain, measured, iters=steps)
        out = {}
        for a, b in cliques:
            values = np.asarray(model.project((a, b)).datavector()).reshape(domain[a], domain[b])
            out |= {f"{a},{b},{i},{j}": values[i, j] for i in range(domain[a]) for j in range(domain[b])}
        return out

    answer("every pair by %s noise, then mirror descent, 200 or 500 steps" % ("normal" if DELTA else "Laplace"), once)


try:
    pairs() if TASK == "pairs" else cannot("no such statistic")
except Exception as e:  # what it says is part of the study
    cannot(f"{type(e).__name__}: {e}")
