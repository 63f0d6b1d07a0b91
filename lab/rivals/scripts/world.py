"""What all rivals share: the arguments, the tables, and the answer as one line of JSON."""
import csv
import json
import os
import random
import sys

TASK, EPSILON, DELTA, FOLDER, RUNS = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), sys.argv[4], int(sys.argv[5])
REGIONS = [f"g{i:02d}" for i in range(50)]
WARDS = [f"w{i:02d}" for i in range(50)]
RANKS = [0.1, 0.25, 0.5, 0.75, 0.9]
COLUMNS = [f"c{i}" for i in range(10)]
SIZES = [2 + i // 2 for i in range(10)]
LOWER, UPPER, MIDDLE = 0.0, 100.0, 50.0
WARDS_OF_A_PERSON, ROWS_IN_A_WARD = 15, 1


def table(name, *columns):
    """The columns of a table, as lists of text."""
    with open(os.path.join(FOLDER, name + ".csv"), newline="") as file:
        rows = list(csv.DictReader(file))
    return [[row[column] for row in rows] for column in columns]


def answer(how, once):
    """Runs once() as often as asked; each gives a value for each cell."""
    runs = [{str(k): float(v) for k, v in once().items()} for _ in range(RUNS)]
    json.dump({"how": how, "runs": runs}, sys.stdout)


def cannot(why):
    json.dump({"cannot": " ".join(str(why).split())[:300]}, sys.stdout)


def drawn(values, size):
    """A simple random sample, drawn by hand."""
    return random.SystemRandom().sample(values, size)
