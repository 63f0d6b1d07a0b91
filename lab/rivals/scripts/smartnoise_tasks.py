"""SmartNoise: SQL over a data frame; ε is for each sum that a query needs, as its guide tells, and the odometer adds them."""
import warnings

import pandas as pd
import snsql

from world import *

warnings.filterwarnings("ignore")
NUMBER = {"type": "float", "lower": LOWER, "upper": UPPER}
TEXT = {"type": "string"}


def reader(rows, columns, of, delta=0, **table):
    metadata = {"": {"s": {"t": {**(table or {"row_privacy": True}), "censor_dims": delta > 0, **columns}}}}
    return snsql.from_df(rows[list(columns)], privacy=snsql.Privacy(epsilon=of, delta=delta), metadata=metadata)


def ask(how, query, file, columns, delta=0, sample=None, **table):
    query = f"SELECT {query.replace('BY', 'FROM s.t GROUP BY') if 'BY' in query else query + ' FROM s.t'}"
    rows = pd.read_csv(os.path.join(FOLDER, file + ".csv"))
    once, _ = reader(rows, columns, 1.0, delta, **table).get_privacy_cost(query)

    def run():
        of = reader(rows.sample(sample) if sample else rows, columns, EPSILON / round(once), delta, **table)
        return {r[0] if len(r) > 1 else "all": r[-1] for r in of.execute(query)[1:]}

    answer(how, run)


KEYED = {"person": {"type": "int", "private_id": True}, "ward": TEXT}
TASKS = {
    "count": lambda: ask("COUNT", "COUNT(*) AS n", "persons", {"x": NUMBER}),
    "counts": lambda: ask("COUNT, GROUP BY", "region, COUNT(*) AS n BY region", "persons", {"region": TEXT}),
    "means": lambda: ask("AVG, GROUP BY", "region, AVG(x) AS n BY region", "persons", {"region": TEXT, "x": NUMBER}),
    "variance": lambda: ask("VARIANCE", "VARIANCE(x) AS n", "persons", {"x": NUMBER}),
    "median": lambda: ask("MEDIAN", "MEDIAN(x) AS n", "persons", {"x": NUMBER}),
    "quantiles": lambda: ask("PERCENTILE", "PERCENTILE(x, 10) AS n", "persons", {"x": NUMBER}),
    # the odometer says one and a half times the δ that is given
    "keys": lambda: ask("COUNT, GROUP BY, censor_dims", "town, COUNT(*) AS n BY town", "persons", {"town": TEXT}, DELTA / 1.5),
    "visits": lambda: ask(f"COUNT, GROUP BY, max_ids {WARDS_OF_A_PERSON * ROWS_IN_A_WARD}", "ward, COUNT(*) AS n BY ward", "visits", KEYED,
                          max_ids=WARDS_OF_A_PERSON * ROWS_IN_A_WARD),
    # both sums are charged, and a replaced row moves one of them twice
    "sampled": lambda: ask("AVG on a sample drawn by hand", "AVG(x) AS n", "persons", {"x": NUMBER},
                           sample=sum(1 for _ in open(os.path.join(FOLDER, "persons.csv"))) // 10),
}
try:
    TASKS.get(TASK, lambda: cannot("no such statistic"))()
except Exception as e:  # what it says is part of the study
    cannot(f"{type(e).__name__}: {e}")
