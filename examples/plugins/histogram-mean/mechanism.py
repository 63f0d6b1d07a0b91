"""Mean, spread and quartiles of a numeric column from one private histogram.

The histogram gets noise once. All five numbers come from the curve that scipy draws through it, so they cost what one of them
does, and they agree with each other. The proof is in histogram-mean.proof.md."""

from dprelease import Description, Field, Plan, Refused, discrete_laplace, laplace_scale, largest

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["column"],
    "properties": {
        "column": {"type": "string", "description": "the numeric column"},
        "bins": {"type": "integer", "minimum": 2, "maximum": 1000, "default": 64, "description": "how many bins of equal width"},
    },
}

STATISTICS = ["mean", "sd", "p25", "median", "p75"]


class Layout:
    """All that a release needs to know. It follows from public facts alone."""

    def __init__(self, request):
        self.column = c = request.public.column(request.params["column"])
        if c.type != "number" or not c.lower < c.upper:
            raise Refused("column: %r must be a number with lower below upper" % c.name)
        if not request.target.epsilon > 0:
            raise Refused("guarantee: epsilon must be positive")
        self.bins = request.params.get("bins", 64)
        # A record is in one bin: one count moves by 1 when it comes or goes, two when it changes.
        scale = laplace_scale(largest(1, 2, request.public.sample_relations), request.target.epsilon)
        self.noise = discrete_laplace(scale, add_remove=1, replace_one=2)


class HistogramMean:
    def describe(self):
        return Description(
            name="histogram-mean", version="1.0.0", summary="mean, spread and quartiles from one private histogram",
            params_schema=SCHEMA, designs=["full", "poisson", "srswor"], linear=True,
        )

    def plan(self, request):
        l = Layout(request)
        size = max(abs(l.column.lower), abs(l.column.upper))
        output = [Field("statistic", "string", texts=STATISTICS),
                  Field("value", "float64", doc="in the unit of the column", low=-size, high=size)]
        return Plan(columns=[l.column.name], event=l.noise, output=output, rows=len(STATISTICS))

    def release(self, request, rows, host):
        l = Layout(request)
        counts = histogram(rows, l.column, l.bins)
        noisy = host.add_laplace(l.noise, counts)
        # From here on everything is post-processing: it sees the noisy counts alone.
        found = summary(noisy, l.column.lower, l.column.upper)
        return {"statistic": STATISTICS, "value": [found[s] for s in STATISTICS]}


def histogram(rows, column, bins):
    """How many values are in each bin. The bin of a value depends on it alone."""
    import numpy

    counts = numpy.zeros(bins, numpy.int64)
    for batch in rows:
        values, valid = batch[0], batch.valid(0)
        if valid is not None:
            values = values[valid]
        place = ((values - column.lower) / (column.upper - column.lower) * bins).astype(numpy.int64)
        counts += numpy.bincount(numpy.clip(place, 0, bins - 1), minlength=bins)
    return counts


def summary(noisy, lower, upper):
    """The statistics of the distribution whose shares of the bins are nearest to the noisy counts."""
    import numpy
    from scipy import interpolate, optimize

    x = numpy.asarray(noisy, float)
    total = max(1.0, x.sum())
    # The nearest counts that are not negative and add up to the total lower all by the same.
    over = lambda t: numpy.maximum(x - t, 0).sum() - total
    x = numpy.maximum(x - optimize.brentq(over, x.min() - total, x.max()), 0)
    shares = x / x.sum()
    edges = numpy.linspace(lower, upper, len(x) + 1)
    reached = numpy.minimum(numpy.concatenate([[0.0], shares.cumsum()]), 1)
    reached[-1] = 1
    below = interpolate.PchipInterpolator(edges, reached)  # the share below each value: never falls
    mean = upper - below.integrate(lower, upper)
    grid = numpy.linspace(lower, upper, 4096)
    second = upper**2 - 2 * numpy.trapz(grid * below(grid), grid)
    at = lambda q: optimize.brentq(lambda y: below(y) - q, lower, upper)
    sd = max(0.0, second - mean**2) ** 0.5
    return {"mean": float(mean), "sd": float(sd), "p25": at(0.25), "median": at(0.5), "p75": at(0.75)}
