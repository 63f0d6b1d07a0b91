import ast
import json
import math
import os
import random
from pathlib import Path

import pytest

import dprelease

JOB = """
version: 1
job: visits
dataset:
  id: visits
  source: {path: visits.csv, delimiter: ";", decimal: ","}
  relation: add-remove
  unit: {column: patient, name: patient}
  cap: {groups: 1, rows: 2}
  columns:
    region: {domain: [north, south], outside: drop}
    cost: {lower: 0, upper: 2000, missing: drop}
budget: {limit: {epsilon: "1"}}
releases:
  - {name: visits, mechanism: count, by: [region], guarantee: {epsilon: "0.2"}}
  - {name: cost, mechanism: mean, params: {column: cost}, guarantee: {epsilon: "0.3"}}
output: {dir: out, formats: [csv, json]}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "visits.csv").write_text("patient;region;cost\n" + "".join(f"{i};{'north' if i % 3 else 'south'};{i % 50},5\n" for i in range(900)))
    (tmp_path / "job.yaml").write_text(JOB)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_way_of_a_job(folder):
    assert dprelease.check("job.yaml") == []
    plan = dprelease.plan("job.yaml")
    assert plan["guarantee"]["epsilon"] <= 0.5
    assert repr(plan).endswith("the whole job: ε 0.5, δ 0")
    run = dprelease.run("job.yaml")
    assert list(run) == ["visits", "cost"]
    visits = run["visits"]
    assert visits.columns["region"] == ["north", "south"]
    assert len(visits.sd) == len(visits.interval) == len(visits) == 2
    # Some visits of a patient may be left out, so an interval has its lower end alone.
    assert all(low < x and high is None for x, (low, high) in zip(visits.columns["estimate"], visits.interval))
    assert "visits cost ε 0.2, δ 0 on its own." in repr(visits)
    assert "At most" in repr(visits) or "at most" in repr(visits)
    assert repr(run).endswith("Everything together cost ε 0.5, δ 0.")
    # Once more costs nothing, and gives the same values.
    again = dprelease.run(folder / "job.yaml")
    assert again["visits"].columns == visits.columns
    assert dprelease.ledger("job.yaml")["accounts"][0]["amounts"][0]["spent"] == "0.5"
    assert dprelease.read_release("out", "cost").columns == run["cost"].columns


def test_notebook(folder):
    run = dprelease.run("job.yaml")
    text = run._repr_html_()
    assert text.count("<iframe") == 2 and "north" in text and "Everything together cost" in text
    dprelease.plot(run["visits"]).save("picture.html")
    page = (folder / "picture.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 1 and "north" in page and "script" not in page


def test_the_notebook_start(tmp_path, monkeypatch):
    """Runs its cells in order, and shows the value of a last line as a notebook does."""
    notebook = json.loads((Path(__file__).parent.parent / "start.ipynb").read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    names, shown = {}, []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [] and cell["execution_count"] is None
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, cell["id"], "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), cell["id"], "eval"), names)
            shown.append(value._repr_html_() if hasattr(value, "_repr_html_") else repr(value))
    checked, unfit, fit, plan, visits, cost, same, ledger = [s for s in shown if s != "None"]
    assert checked == fit == "[]" and "DATA_UNFIT" in unfit and plan.endswith("the whole job: ε 0.5, δ 0")
    assert "<iframe" in visits and "east" in visits and "<iframe" in cost and same == "True" and "'spent': '0.5'" in ledger
    assert "abroad" in (tmp_path / "CONFIDENTIAL-look.txt").read_text(encoding="utf-8") and "abroad" not in "".join(shown)


def test_the_notebook_has_the_form_of_notebooks():
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate(nbformat.read(Path(__file__).parent.parent / "start.ipynb", as_version=4))


def test_problems(folder):
    (folder / "bad.yaml").write_text(JOB.replace('"0.2"', '"much"'))
    problems = dprelease.check("bad.yaml")
    assert len(problems) == 1 and problems[0].startswith("bad.yaml:15:")
    with pytest.raises(dprelease.Error) as caught:
        dprelease.run("bad.yaml")
    assert caught.value.code == "INVALID_JOB" and caught.value.spent == "none" and problems[0] in str(caught.value)
    with pytest.raises(dprelease.Error) as caught:
        dprelease.check("absent.yaml")
    assert caught.value.code == "JOB_UNREADABLE"


def test_no_program(monkeypatch):
    monkeypatch.setenv("DPRELEASE", "/nowhere/dprelease")
    with pytest.raises(FileNotFoundError, match="set the variable DPRELEASE"):
        dprelease.check("job.yaml")


def test_variables(folder):
    (folder / "varied.yaml").write_text(JOB.replace("job: visits", "job: visits-$(month)").replace("output:", 'variables: {month: {type: text}}\noutput:'))
    assert dprelease.plan("varied.yaml", set={"month": "2026-10"})["job"]["name"] == "visits-2026-10"


def test_pandas(folder):
    pandas = pytest.importorskip("pandas")
    frame = dprelease.run("job.yaml")["visits"].to_pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame["region"]) == ["north", "south"]
    assert frame.attrs["guarantee"]["epsilon"] <= 0.2 and len(frame.attrs["sd"]) == 2 and frame.attrs["job"]["name"] == "visits"


def test_a_cost_is_never_rounded_down():
    chance = random.Random(1)
    for _ in range(20000):
        x = chance.random() * 10 ** chance.randint(-9, 3)
        shown = float(dprelease._up(x))
        assert x <= shown <= x * 1.0011
    assert dprelease._up(0.3) == "0.3" and dprelease._up(0.12341) == "0.1235" and dprelease._up(0) == "0"
