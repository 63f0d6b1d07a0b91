"""OpenDP: its core where one measurement answers, its Polars front end where its guide uses that."""
import warnings

import opendp.prelude as dp

from world import *

warnings.filterwarnings("ignore")
dp.enable_features("contrib", "honest-but-curious")  # the second for a sample that the caller drew
FLOATS = (dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance())


def scaled(chain, distance=1):
    """The scale of noise at which the chain costs ε, as the guide finds it."""
    return dp.binary_search_chain(chain, d_in=distance, d_out=EPSILON, T=float)


def count():
    xs = list(map(float, table("persons", "x")[0]))
    m = scaled(lambda s: dp.t.make_count(*FLOATS) >> dp.m.then_laplace(s))
    answer("make_count, Laplace", lambda: {"all": m(xs)})


def counts():
    regions = table("persons", "region")[0]
    space = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    m = scaled(lambda s: dp.t.make_count_by_categories(*space, categories=REGIONS, null_category=False) >> dp.m.then_laplace(s))
    answer("make_count_by_categories, Laplace", lambda: dict(zip(REGIONS, m(regions))))


def frame(name, unit, loss, margins, queries=1):
    import polars as pl

    path = os.path.join(FOLDER, name + ".csv")
    return dp.Context.compositor(data=pl.scan_csv(path), privacy_unit=unit, privacy_loss=loss, split_evenly_over=queries, margins=margins)


def means():
    import polars as pl

    keys = pl.LazyFrame({"region": REGIONS})
    x = pl.col.x.fill_null(MIDDLE).fill_nan(MIDDLE)
    loss = dp.loss_of(epsilon=EPSILON, delta=DELTA) if DELTA else dp.loss_of(epsilon=EPSILON)
    margins = [dp.polars.Margin(by=["region"], max_length=1_000_000, max_groups=50)]

    def once():
        query = frame("persons", dp.unit_of(contributions=1), loss, margins).query()
        rows = query.group_by("region").agg((x - MIDDLE).dp.sum((-50.0, 50.0)).alias("s"), dp.len(signed=True).alias("n"))
        rows = rows.with_keys(keys).release().collect().to_dicts()
        return {r["region"]: min(UPPER, max(LOWER, MIDDLE + r["s"] / max(1, r["n"]))) for r in rows}

    answer("Polars: sum of x − 50 and len by group, held to the bounds", once)


def variance():
    xs = list(map(float, table("persons", "x")[0]))
    chain = lambda s: (
        dp.t.make_clamp(*FLOATS, bounds=(LOWER, UPPER)) >> dp.t.then_resize(size=len(xs), constant=MIDDLE) >> dp.t.then_variance()
        >> dp.m.then_laplace(s))
    m = scaled(chain)
    answer("clamp, resize to the true number, variance, Laplace", lambda: {"all": m(xs)})


def ranks(which):
    xs = list(map(float, table("persons", "x")[0]))
    candidates = [i / 100 for i in range(10_001)]

    def quantile(alpha):
        chain = lambda s: dp.t.make_quantile_score_candidates(*FLOATS, candidates, alpha=alpha) >> dp.m.then_noisy_max(dp.max_divergence(), s, negate=True)
        scale = dp.binary_search(lambda s: chain(s).map(1) <= EPSILON / len(which), bounds=(1e-6, 1e9))
        return chain(scale)

    ms = {str(a): quantile(a) for a in which}
    answer(f"{len(candidates):,} candidates by noisy max, the budget in equal parts", lambda: {a: candidates[m(xs)] for a, m in ms.items()})


def keys():
    import polars as pl

    if not DELTA:
        return cannot("needs a δ")
    def once():
        query = frame("persons", dp.unit_of(contributions=1), dp.loss_of(epsilon=EPSILON, delta=DELTA), []).query()
        return {r["town"]: r["n"] for r in query.group_by("town").agg(dp.len(signed=True).alias("n")).release().collect().to_dicts()}

    answer("Polars: stable keys", once)


def visits():
    import polars as pl

    loss = dp.loss_of(epsilon=EPSILON, delta=DELTA) if DELTA else dp.loss_of(epsilon=EPSILON)
    unit = dp.unit_of(identifier=pl.col.person, contributions=1)
    margins = [dp.polars.Margin(by=["ward"], max_length=1_000_000, max_groups=50)]
    names = pl.LazyFrame({"ward": WARDS})

    def once():
        query = frame("visits", unit, loss, margins).query()
        query = query.truncate_num_groups(WARDS_OF_A_PERSON, by=["ward"], keep="first").truncate_per_group(ROWS_IN_A_WARD, by=["ward"])
        rows = query.group_by("ward").agg(dp.len(signed=True).alias("n")).with_keys(names).release().collect().to_dicts()
        return {r["ward"]: r["n"] for r in rows}

    answer("Polars: truncate_num_groups (the first ones; a random choice fails), truncate_per_group", once)


def sampled():
    xs = list(map(float, table("persons", "x")[0]))
    size = len(xs) // 10
    space = dp.vector_domain(dp.atom_domain(bounds=(LOWER, UPPER), nan=False), size=size), dp.symmetric_distance()
    chain = lambda s: dp.c.make_population_amplification(dp.t.make_mean(*space) >> dp.m.then_laplace(s), population_size=len(xs))
    m = chain(dp.binary_search(lambda s: chain(s).map(2) <= EPSILON, bounds=(1e-3, 1e4)))  # one row is replaced
    answer("mean, make_population_amplification, on a sample drawn by hand", lambda: {"all": m(drawn(xs, size))})


try:
    {"median": lambda: ranks([0.5]), "quantiles": lambda: ranks(RANKS)}.get(TASK, globals().get(TASK, lambda: cannot("no such statistic")))()
except Exception as e:  # what it says is part of the study
    cannot(e)
