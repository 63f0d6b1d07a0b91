"""What accountants charge for the same noise: dp_accounting and jax-privacy by loss distributions and by Rényi, autodp by Rényi."""
import json
import sys
import time

QUESTION = json.loads(sys.argv[1])
DELTA = QUESTION["delta"]


def dp_accounting(pld):
    import dp_accounting as d
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.rdp import RdpAccountant

    relation = d.NeighboringRelation.REPLACE_ONE if QUESTION["relation"] == "replace-one" else d.NeighboringRelation.ADD_OR_REMOVE_ONE
    accountant = PLDAccountant(relation) if pld else RdpAccountant(neighboring_relation=relation)
    for e in QUESTION["events"]:
        inner = d.GaussianDpEvent(e["sigma"]) if e["noise"] == "gaussian" else d.LaplaceDpEvent(e["sigma"])
        match e.get("draw", ""):
            case "poisson":
                inner = d.PoissonSampledDpEvent(e["rate"], inner)
            case "without replacement":
                inner = d.SampledWithoutReplacementDpEvent(1_000_000, int(e["rate"] * 1_000_000), inner)
            case "rotation":
                raise ValueError("no event for one wave in t, drawn at random for each unit")
        accountant.compose(inner, e["times"])
    return accountant.get_epsilon(DELTA)


def autodp():
    from autodp import autodp_core, mechanism_zoo, transformer_zoo

    parts, times = [], []
    if len(QUESTION["events"]) == 1 and (e := QUESTION["events"][0])["noise"] == "gaussian" and not e.get("draw") and e["times"] == 1:
        return mechanism_zoo.ExactGaussianMechanism(e["sigma"]).get_approxDP(DELTA)
    for e in QUESTION["events"]:
        kind = mechanism_zoo.GaussianMechanism if e["noise"] == "gaussian" else mechanism_zoo.LaplaceMechanism
        inner = kind(e["sigma"])
        draw, poisson = e.get("draw", ""), e.get("draw", "") == "poisson"
        if draw == "rotation":
            raise ValueError("no such draw")
        if draw:
            inner.neighboring = QUESTION["relation"].replace("-", "_")
            inner = transformer_zoo.AmplificationBySampling(PoissonSampling=poisson)(
                inner, e["rate"], improved_bound_flag=not poisson or e["noise"] == "gaussian")
        parts.append(inner)
        times.append(e["times"])
    return transformer_zoo.Composition()(parts, times).get_approxDP(DELTA)


def jax_privacy(pld):
    from jax_privacy import accounting as a

    config = a.PldAccountantConfig() if pld else a.RdpAccountantConfig()
    events = QUESTION["events"]
    if any(e["noise"] != "gaussian" for e in events):
        raise ValueError("DpParams has a noise_multiplier for Gaussian noise only")
    draws = {e.get("draw", "") for e in events}
    if draws == {""} and len(events) == 1 and events[0]["times"] == 1:
        accountant = a.SingleReleaseTrainingAccountant(config)
        return accountant.compute_epsilon(1, a.DpParams(noise_multipliers=events[0]["sigma"], num_samples=1, batch_size=1, delta=DELTA))
    fixed = draws == {"without replacement"}
    if not fixed and draws != {"poisson"}:
        raise ValueError("SamplingMethod has POISSON and FIXED_BATCH_SIZE")
    if not fixed and QUESTION["relation"] == "replace-one":
        raise ValueError("SamplingMethod.POISSON: compatible with add-or-remove and zero-out adjacencies")
    # noise is a multiple of the largest norm, and a replaced unit moves the sum by twice that
    noise = [(i, e["sigma"] * (2 if fixed else 1)) for i, e in enumerate(events)]
    scale = {i: events[i]["rate"] / events[i - 1]["rate"] for i in range(1, len(events))} or None
    params = a.DpParams(noise_multipliers=noise, num_samples=1_000_000, batch_size=round(events[0]["rate"] * 1_000_000), delta=DELTA,
                        batch_size_scale_schedule=scale,
                        sampling_method=a.SamplingMethod.FIXED_BATCH_SIZE if fixed else a.SamplingMethod.POISSON)
    return a.DpsgdTrainingAccountant(config).compute_epsilon(sum(e["times"] for e in events), params)


ASKED = {"dp_accounting, PLD": lambda: dp_accounting(True), "dp_accounting, RDP": lambda: dp_accounting(False), "autodp": autodp,
         "jax-privacy, PLD": lambda: jax_privacy(True), "jax-privacy, RDP": lambda: jax_privacy(False)}
out = {}
for name, ask in ASKED.items():
    if not name.startswith(sys.argv[2]):
        continue
    began = time.process_time()
    try:
        out[name] = {"epsilon": float(ask())}
    except Exception as e:  # what it says is part of the study
        out[name] = {"cannot": " ".join(f"{type(e).__name__}: {e}".split())[:200]}
    out[name]["seconds"] = time.process_time() - began
json.dump(out, sys.stdout)
