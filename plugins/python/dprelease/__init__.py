"""What the author of a mechanism in Python writes against.

A mechanism is an object with three methods. describe() says what it is. plan(request) says,
without data, which noise a release will ask for and what the result looks like.
release(request, rows, host) reads the rows, computes its query on whole numbers, and has the
host add the noise. A plan may declare how the result follows from the noisy query (Finish), and the query too (Query):
then no row reaches the mechanism, and nothing is left to prove. serve(mechanism, ...) makes a plugin of it; `python3 -m dprelease.pack`
makes one file of the plugin.

A mechanism never draws noise. What it claims, and what its author has to prove, is the
sensitivity of its query.
"""

from .events import (Event, approx, bounded_range, compose, discrete_gaussian, discrete_laplace, poisson, pure,
                     randomized_response, repeat, shuffled)
from .model import (Cap, Column, Constant, Coordinate, Declared, Description, Design, ExpectedError, Field, Finish, Linear, NoiseColumns,
                    Plan, PlanRequest, Point, Public, Quantiles, Query, Refused, ReleaseRequest, Split)
from .scale import gaussian_sigma, laplace_error, laplace_scale, laplace_step, largest


def serve(*mechanisms):
    """Answers a host's calls to these mechanisms until the host ends the process."""
    from .plugin import run  # gRPC is needed here and nowhere else

    run(*mechanisms)


__all__ = [
    "Cap", "Column", "Constant", "Coordinate", "Declared", "Description", "Design", "Event", "ExpectedError", "Field", "Finish", "Linear", "NoiseColumns",
    "Plan", "PlanRequest", "Point", "Public", "Quantiles", "Query", "Refused", "ReleaseRequest", "Split", "approx", "bounded_range", "compose", "discrete_gaussian", "discrete_laplace",
    "gaussian_sigma", "laplace_error", "laplace_scale", "laplace_step", "largest", "poisson", "pure", "randomized_response",
    "repeat", "serve", "shuffled",
]
