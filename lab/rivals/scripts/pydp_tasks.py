"""Google's library, by PyDP: one object for each figure."""
import random

from pydp.algorithms import laplacian, partition_selection, quantile_tree

from world import *


def groups(column, of):
    out = {key: [] for key in column}
    for key, value in zip(column, of):
        out[key].append(value)
    return out


def numbers():
    return list(map(float, table("persons", "x")[0]))


def count():
    xs = numbers()
    answer("Count", lambda: {"all": laplacian.Count(epsilon=EPSILON, dtype="float").quick_result(xs)})


def counts():
    (regions,) = table("persons", "region")
    by = groups(regions, [1] * len(regions))
    answer("Count for each group", lambda: {r: laplacian.Count(epsilon=EPSILON, dtype="int").quick_result(by.get(r, [])) for r in REGIONS})


def means():
    regions, x = table("persons", "region", "x")
    by = groups(regions, map(float, x))

    def mean(xs):
        return laplacian.BoundedMean(epsilon=EPSILON, lower_bound=LOWER, upper_bound=UPPER, dtype="float").quick_result(xs)

    answer("BoundedMean for each group", lambda: {r: mean(by.get(r, [])) for r in REGIONS})


def variance():
    xs = numbers()
    answer("BoundedVariance", lambda: {
        "all": laplacian.BoundedVariance(epsilon=EPSILON, lower_bound=LOWER, upper_bound=UPPER, dtype="float").quick_result(xs)})


def ranks(which):
    xs = numbers()

    def one():
        return {str(a): laplacian.Percentile(epsilon=EPSILON / len(which), percentile=a, lower_bound=LOWER, upper_bound=UPPER,
                                             dtype="float").quick_result(xs) for a in which}

    def tree():
        t = quantile_tree.QuantileTree(LOWER, UPPER, 4, 16)
        for x in xs:
            t.add_entry(x)
        return dict(zip(map(str, which), t.compute_quantiles(EPSILON, DELTA, 1, 1, which, "laplace")))

    try:
        tree()
    except Exception:
        return answer("Percentile, the budget in equal parts", one)
    answer("QuantileTree", tree)


def keys():
    if not DELTA:
        return cannot("needs a δ")
    (towns,) = table("persons", "town")
    by = groups(towns, [1] * len(towns))

    def once():
        select = partition_selection.create_truncated_geometric_partition_strategy
        strategy = select(EPSILON / 2, DELTA, 1)
        return {t: laplacian.Count(epsilon=EPSILON / 2, dtype="int").quick_result(rows) for t, rows in by.items()
                if strategy.should_keep(len(rows))}

    answer("truncated geometric selection, then Count", once)


def sampled():  # half of ε is for the number of rows, which no replacement moves; what a replaced row moves of the sum costs twice the other half
    xs = numbers()
    answer("BoundedMean on a sample drawn by hand; nothing is amplified", lambda: {
        "all": laplacian.BoundedMean(epsilon=EPSILON, lower_bound=LOWER, upper_bound=UPPER, dtype="float").quick_result(
            drawn(xs, len(xs) // 10))})


def visits():
    by = groups(*table("visits", "person", "ward"))
    left = []
    for wards in by.values():
        random.shuffle(wards)
        some = list(dict.fromkeys(wards))[:WARDS_OF_A_PERSON]
        left += [w for ward in some for w in [x for x in wards if x == ward][:ROWS_IN_A_WARD]]

    def count(n):
        c = laplacian.Count(epsilon=EPSILON, l0_sensitivity=WARDS_OF_A_PERSON, linf_sensitivity=ROWS_IN_A_WARD, dtype="int")
        return c.quick_result([1] * n)

    answer("Count with l0_sensitivity and linf_sensitivity, rows left out by hand", lambda: {w: count(left.count(w)) for w in WARDS})


try:
    {"median": lambda: ranks([0.5]), "quantiles": lambda: ranks(RANKS)}.get(TASK, globals().get(TASK, lambda: cannot("no such statistic")))()
except Exception as e:  # what it says is part of the study
    cannot(f"{type(e).__name__}: {e}")
