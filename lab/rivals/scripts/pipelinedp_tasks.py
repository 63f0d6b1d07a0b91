"""PipelineDP on its local backend."""
import logging

import pipeline_dp

from world import *

logging.disable(logging.CRITICAL)
M = pipeline_dp.Metrics


def aggregate(rows, metrics, public, wards=1, in_a_ward=1, values=False, **more):
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=DELTA)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    bounds = dict(min_value=LOWER, max_value=UPPER) if values else {}
    params = pipeline_dp.AggregateParams(noise_kind=pipeline_dp.NoiseKind.LAPLACE, metrics=metrics, max_partitions_contributed=wards,
                                         max_contributions_per_partition=in_a_ward, **bounds, **more)
    extractors = pipeline_dp.DataExtractors(privacy_id_extractor=lambda r: r[0], partition_extractor=lambda r: r[1],
                                            value_extractor=lambda r: r[2])
    result = engine.aggregate(rows, params, extractors, public_partitions=public)
    accountant.compute_budgets()
    return dict(result)


def persons(partition, value):
    columns = table("persons", "person", *(c for c in (partition, value) if c))
    return [(r[0], r[1] if partition else "all", float(r[-1]) if value else 0) for r in zip(*columns)]


def simple(how, rows, metrics, public, field, **more):
    answer(how, lambda: {k: getattr(v, field) for k, v in aggregate(rows, metrics, public, **more).items()})


def means():
    rows = persons("region", "x")
    answer("MEAN, public partitions, held to the bounds", lambda: {
        k: min(UPPER, max(LOWER, v.mean)) for k, v in aggregate(rows, [M.MEAN], REGIONS, values=True).items()})


def ranks(which):
    rows = persons(None, "x")
    metrics = [M.PERCENTILE(100 * a) for a in which]

    def once():
        values = list(aggregate(rows, metrics, ["all"], values=True).values())[0]
        return dict(zip(map(str, which), values))

    answer("PERCENTILE", once)


def keys():
    if not DELTA:
        return cannot("needs a δ")
    simple("PRIVACY_ID_COUNT, post_aggregation_thresholding", persons("town", None), [M.PRIVACY_ID_COUNT], None, "privacy_id_count",
           post_aggregation_thresholding=True)


def visits():
    rows = [(person, ward, 0) for person, ward in zip(*table("visits", "person", "ward"))]
    simple("COUNT, max_partitions_contributed, max_contributions_per_partition", rows, [M.COUNT], WARDS, "count", wards=WARDS_OF_A_PERSON,
           in_a_ward=ROWS_IN_A_WARD)


def sampled():  # half of ε is for the number of rows, which no replacement moves; what a replaced row moves of the sum costs twice the other half
    rows = persons(None, "x")
    answer("MEAN on a sample drawn by hand; nothing is amplified", lambda: {
        "all": aggregate(drawn(rows, len(rows) // 10), [M.MEAN], ["all"], values=True)["all"].mean})


TASKS = {
    "count": lambda: simple("COUNT", persons(None, None), [M.COUNT], ["all"], "count"),
    "counts": lambda: simple("COUNT, public partitions", persons("region", None), [M.COUNT], REGIONS, "count"),
    "means": means,
    "variance": lambda: simple("VARIANCE", persons(None, "x"), [M.VARIANCE], ["all"], "variance", values=True),
    "median": lambda: ranks([0.5]),
    "quantiles": lambda: ranks(RANKS),
    "keys": keys,
    "visits": visits,
    "sampled": sampled,
}
try:
    TASKS.get(TASK, lambda: cannot("no such statistic"))()
except Exception as e:  # what it says is part of the study
    cannot(f"{type(e).__name__}: {e}")
