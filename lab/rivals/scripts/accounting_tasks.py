"""What accountants charge for the same noise: dp_accounting by loss distributions and by Rényi, autodp by Rényi."""
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

    if QUESTION["relation"] == "replace-one":
        raise ValueError("amplification is asked under add-remove here")
    parts, times = [], []
    for e in QUESTION["events"]:
        kind = mechanism_zoo.GaussianMechanism if e["noise"] == "gaussian" else mechanism_zoo.LaplaceMechanism
        inner = kind(e["sigma"])
        if e.get("draw", "") == "poisson":
            inner.neighboring = "add_remove"
            inner = transformer_zoo.AmplificationBySampling(PoissonSampling=True)(inner, e["rate"], improved_bound_flag=e["noise"] == "gaussian")
        elif e.get("draw", ""):
            raise ValueError("no such draw")
        parts.append(inner)
        times.append(e["times"])
    return transformer_zoo.Composition()(parts, times).get_approxDP(DELTA)


out = {}
for name, ask in {"dp_accounting, PLD": lambda: dp_accounting(True), "dp_accounting, RDP": lambda: dp_accounting(False), "autodp": autodp}.items():
    if (name == "autodp") != (sys.argv[2] == "autodp"):
        continue
    began = time.process_time()
    try:
        out[name] = {"epsilon": float(ask())}
    except Exception as e:  # what it says is part of the study
        out[name] = {"cannot": " ".join(f"{type(e).__name__}: {e}".split())[:200]}
    out[name]["seconds"] = time.process_time() - began
json.dump(out, sys.stdout)
