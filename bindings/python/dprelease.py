"""Differentially private releases: check, plan, run and read them.

This module calls the program dprelease with --json, and computes nothing itself. The program is the one that the variable DPRELEASE
names, or the one on the PATH.
"""

import html
import json
import os
import re
import subprocess
from pathlib import Path

__all__ = ["Error", "Plan", "Release", "Run", "check", "ledger", "plan", "plot", "read_release", "run"]


class Error(Exception):
    """What the program says where it fails: a code of docs/exit-codes.md, what was spent, and whether to try again."""

    def __init__(self, failed, problems=()):
        self.code = failed.get("code", "")
        self.exit = failed.get("exit", 1)
        self.spent = failed.get("spent", "")
        self.retry = failed.get("retry", "")
        self.problems = list(problems)
        text = [f"{self.code}: {failed.get('message', '')} (spent: {self.spent}; retry: {self.retry})"]
        super().__init__("\n".join(text + [_problem(p) for p in self.problems]))


def _problem(p):
    hint = f" ({p['hint']})" if p.get("hint") else ""
    return f"{p['file']}:{p['line']}:{p['column']}: {p['path']}: {p['message']}{hint}"


def _call(*args, set=None):
    """Runs the program and returns the JSON objects that it printed."""
    command = [os.environ.get("DPRELEASE", "dprelease"), *map(str, args), "--json"]
    for name, value in (set or {}).items():
        command += ["--set", f"{name}={value}"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8")
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no program {command[0]}: install dprelease, or set the variable DPRELEASE to its path") from None
    events, text, at = [], done.stdout.strip(), 0
    decoder = json.JSONDecoder()
    while at < len(text):
        event, at = decoder.raw_decode(text, at)
        events.append(event)
        at += len(text[at:]) - len(text[at:].lstrip())
    if done.returncode != 0:
        failed = next((e for e in reversed(events) if e.get("event") == "failed"), None)
        raise Error(failed or {"exit": done.returncode, "message": done.stderr.strip()}, [e for e in events if e.get("event") == "problem"])
    return events


def check(job, set=None, look=None):
    """Returns the problems of a job, each as text; an empty list where there is none.

    Reads no table, except where look names a new file: then the table is read in private, the ledger notes it, and what was found goes to that
    file, which is secret, as is whether the table has problems.
    """
    try:
        _call("check", job, *(["--data", "--out", look] if look else []), set=set)
    except Error as e:
        if e.code == "INVALID_JOB":
            return [_problem(p) for p in e.problems]
        if e.code == "DATA_UNFIT":
            return [str(e)]
        raise
    return []


class Plan(dict):
    """What a job would cost, as specs/report-v1.md says."""

    def __repr__(self):
        lines = [f"{r['name']}: {_cost(r.get('price', r['guarantee']))} on its own" for r in self["releases"]]
        return "\n".join(lines + [f"the whole job: {_cost(self['guarantee'])}"])


def plan(job, set=None):
    """Returns what a job would cost. Reads no data, and spends nothing."""
    return Plan(_call("plan", job, set=set)[-1])


def run(job, set=None):
    """Runs a job, and returns its releases. The same job on the same data publishes the same files again, and spends nothing."""
    return read_release(_call("run", job, set=set)[-1]["outcome"]["dir"])


def ledger(job, set=None):
    """Returns what was spent of the budget, as ledger show says it."""
    return _call("ledger", "show", job, set=set)[-1]


def read_release(dir, name=None):
    """Reads the output folder of a run, or one release of it."""
    found = Run(Path(dir))
    return found if name is None else found[name]


class Run(dict):
    """The releases of a run, by their names."""

    def __init__(self, dir):
        self.dir = dir
        self.report = json.loads((dir / "report.json").read_text(encoding="utf-8"))
        self.guarantee, self.job = self.report["guarantee"], self.report["job"]
        super().__init__((entry["name"], Release(self, i)) for i, entry in enumerate(self.report["releases"]))

    def __repr__(self):
        return "\n\n".join([repr(r) for r in self.values()] + [f"Everything together cost {_cost(self.guarantee)}."])

    def _repr_html_(self):
        return "".join(r._repr_html_() for r in self.values()) + f"<p>Everything together cost {_cost(self.guarantee)}.</p>"


class Release:
    """One release: its columns, and what is known of its errors and its cost.

    columns holds lists by name; None is a value that is not shown. sd is the standard deviation of the noise in each row, and interval the ends of
    an interval for each value; both are None where the release does not say them. limits are sentences on what the values leave out.
    """

    def __init__(self, run, index):
        entry = run.report["releases"][index]
        self.name, self.guarantee, self.job = entry["name"], {**entry["guarantee"], **entry.get("price", {})}, run.job
        self.limits = entry.get("limits", {}).get("text", [])
        self._run, self._index = run, index
        path = next((run.dir / f["path"] for f in entry["files"] if f["path"].endswith(".json")), None)
        if path is None:
            raise Error({"code": "NO_JSON", "message": f"{self.name} is in no JSON file: add json to output.formats", "spent": "none", "retry": "no"})
        rows = json.loads(path.read_text(encoding="utf-8"))
        self.columns = {f["name"]: [row[f["name"]] for row in rows] for f in entry["fields"]}
        self.sd = self.columns.get("noise_sd")
        ends = self.columns.get("interval_low"), self.columns.get("interval_high")
        self.interval = list(zip(*ends)) if None not in ends else None

    @property
    def attrs(self):
        return {"name": self.name, "sd": self.sd, "interval": self.interval, "guarantee": self.guarantee, "job": self.job, "limits": self.limits}

    def to_pandas(self):
        """Returns a data frame of pandas. Its attrs say sd, interval, guarantee, job and limits."""
        import pandas

        frame = pandas.DataFrame(self.columns)
        frame.attrs.update(self.attrs)
        return frame

    def to_polars(self):
        """Returns a data frame of polars, which has no attributes."""
        import polars

        return polars.DataFrame(self.columns)

    def plot(self):
        """Returns the picture of the report for this release."""
        page = (self._run.dir / "report-public.html").read_text(encoding="utf-8")
        pictures = re.findall(rf'<svg [^>]*aria-labelledby="p{self._index}-.*?</svg>', page, re.S)
        return Picture(re.search(r"<style>.*?</style>", page, re.S).group(0), pictures)

    def _said(self):
        return [f"{self.name} cost {_cost(self.guarantee)} on its own."] + [text + "." for text in self.limits]

    def __len__(self):
        return max(map(len, self.columns.values()), default=0)

    def __repr__(self):
        rows = [list(self.columns)] + [[_cell(v) for v in row] for row in zip(*self.columns.values())]
        hidden = rows[21:]
        width = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, width)).rstrip() for row in rows[:21]]
        return "\n".join(lines + ([f"… {len(hidden)} more rows"] if hidden else []) + self._said())

    def _repr_html_(self):
        head = "".join(f"<th>{html.escape(c)}</th>" for c in self.columns)
        rows = ["<tr>" + "".join(f"<td>{html.escape(_cell(v))}</td>" for v in row) + "</tr>" for row in zip(*self.columns.values())]
        more = f"<p>… {len(rows) - 20} more rows</p>" if len(rows) > 20 else ""
        said = "".join(f"<p>{html.escape(text)}</p>" for text in self._said())
        return f"<table><tr>{head}</tr>{''.join(rows[:20])}</table>{more}{self.plot()._repr_html_()}{said}"


class Picture:
    """Pictures of a report. A notebook shows them; save writes them as a page."""

    def __init__(self, style, pictures):
        self.page = f'<!DOCTYPE html><meta charset="utf-8">{style}{"".join(pictures)}'
        self._height = sum(1.6 * float(re.search(r'viewBox="0 0 \S+ (\S+)"', p).group(1)) + 20 for p in pictures)
        self.pictures = pictures

    def save(self, path):
        Path(path).write_text(self.page, encoding="utf-8")

    def _repr_html_(self):
        if not self.pictures:
            return ""
        return f'<iframe sandbox srcdoc="{html.escape(self.page)}" style="border:0;width:40em;max-width:100%;height:{self._height:.0f}px"></iframe>'


def plot(release):
    """Returns the picture of the report for a release."""
    return release.plot()


def _cell(value):
    if value is None:
        return ""
    return f"{value:.7g}" if isinstance(value, float) else str(value)


def _cost(guarantee):
    return f"ε {_up(guarantee['epsilon'])}, δ {_up(guarantee['delta'])}"


def _up(x):
    """Writes a number with four digits, never smaller than it is."""
    near = float(f"{x:.4g}")
    if near < x:
        digits, exponent = f"{x:.3e}".split("e")
        near = float(f"{float(digits) + 0.001:.3f}e{exponent}")
    return f"{near:.4g}"
