"""What is said between a mechanism and the host, as plain data. Names and meanings are those of the messages in
specs/plugin/v1/mechanism.proto; words stand for enumerations ("add-remove", "number", "float64", ...)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from .events import Event


class Refused(Exception):
    """The request makes no sense for the mechanism. The user sees the text."""


@dataclass
class Description:
    name: str
    version: str
    summary: str = ""
    params_schema: Any = None  # JSON Schema, as a dict
    relations: List[str] = field(default_factory=lambda: ["add-remove", "replace-one"])
    designs: List[str] = field(default_factory=lambda: ["full"])
    self_noising: bool = False
    grouped: bool = False
    capped: bool = False
    linear: bool = False
    weighted: bool = False
    declares_finish: bool = False
    declares_query: bool = False  # what holds of every declared query, such as capped, need not be said


@dataclass
class Point:
    epsilon: float = 0.0
    delta: float = 0.0


@dataclass
class Design:
    kind: str = ""
    rate: float = 0.0
    sample_size: int = 0
    min_weight: float = 0.0
    max_weight: float = 0.0
    equal_weights: bool = False
    largest_count: int = 0


@dataclass
class Column:
    name: str = ""
    type: str = "number"  # or "category"
    lower: float = 0.0
    upper: float = 0.0
    missing: str = "refuse"  # "drop", "impute"
    domain: List[str] = field(default_factory=list)
    immutable: bool = False  # a neighbour has the same value; with "drop", or one of the two has none

    def expression(self) -> str:
        """The column as an expression of a query."""
        return "column(%s)" % json.dumps(self.name, ensure_ascii=False)


@dataclass
class Cap:
    groups: int = 0
    rows: int = 0
    times: int = 0  # each row counts as so many rows; 0 stands for 1


@dataclass
class Public:
    relation: str = "add-remove"
    sample_relations: List[str] = field(default_factory=list)
    population: int = 0
    design: Design = field(default_factory=Design)
    columns: List[Column] = field(default_factory=list)
    cap: Optional[Cap] = None

    def column(self, name) -> Column:
        """The declared column of that name; a request that names another is refused."""
        for c in self.columns:
            if c.name == name:
                return c
        raise Refused("column: %r is not declared" % (name,))


@dataclass
class PlanRequest:
    params: Dict[str, Any] = field(default_factory=dict)
    public: Public = field(default_factory=Public)
    target: Point = field(default_factory=Point)


@dataclass
class Field:
    name: str
    type: str = "float64"  # "int64", "string"
    granularity: float = 0.0
    doc: str = ""
    low: float = 0.0  # the public range of numbers, where low < high
    high: float = 0.0
    texts: List[str] = field(default_factory=list)  # all that a column of strings may hold
    value: str = ""  # in a plan with a finish: the expression that computes this column
    statistic: str = ""  # what the numbers estimate: "count", "total", "mean", "share", "quantile", "variance", "sd"


@dataclass
class Linear:
    column: str = ""
    low: float = 0.0
    high: float = 0.0
    scale: float = 0.0
    adds: str = ""  # the column whose values the value adds up


@dataclass
class ExpectedError:
    field: str
    noise_sd: float = 0.0
    half95: float = 0.0
    note: str = ""
    linear: Optional[Linear] = None
    sampling_note: str = ""


@dataclass
class Constant:
    """A public column of a finish: numbers or texts, one for each row of the result, or one for all."""

    name: str
    numbers: List[float] = field(default_factory=list)
    texts: List[str] = field(default_factory=list)


@dataclass
class Quantiles:
    """Turns a noisy histogram, with a count for each bin between two edges, into a quantile for each rank."""

    edges: List[float] = field(default_factory=list)
    at: List[float] = field(default_factory=list)


@dataclass
class NoiseColumns:
    """The columns that the answer to a noise call becomes, one after the other."""

    columns: List[str] = field(default_factory=list)
    quantiles: Optional[Quantiles] = None
    units: List[float] = field(default_factory=list)  # the numbers by which the columns are multiplied


@dataclass
class Finish:
    """How the host computes the result from the noisy sums: Field.value is an expression over these columns. Noise calls
    then return zeros, and release returns nothing."""

    constants: List[Constant] = field(default_factory=list)
    noise: List[NoiseColumns] = field(default_factory=list)


@dataclass
class Split:
    """Gives a row a place among texts, or from 0 to count - 1, by the value of an expression."""

    value: str
    texts: List[str] = field(default_factory=list)
    count: int = 0


@dataclass
class Coordinate:
    """A number that each row adds: an expression, held between low and high. The host chooses a lattice of 0."""

    value: str
    low: float = 0.0
    high: float = 0.0
    lattice: float = 0.0


@dataclass
class Query:
    """What each row adds to a noise call of a finish, in the cell that it is in. The host computes, bounds and adds."""

    coordinates: List[Coordinate]
    cells: List[Split] = field(default_factory=list)
    norm: float = 0.0  # where positive, the L2 norm to which the vector of a row is scaled down


@dataclass
class Plan:
    columns: List[str] = field(default_factory=list)
    event: Event = None
    output: List[Field] = field(default_factory=list)
    rows: int = 1
    errors: List[ExpectedError] = field(default_factory=list)
    finish: Optional[Finish] = None
    queries: List[Query] = field(default_factory=list)  # without columns and event, which the host finds
    noise: str = ""  # of the queries: "laplace", "gaussian", "" for the smaller


class Declared:
    """For a mechanism to inherit from that declares its query: the host makes its releases."""

    def release(self, request, rows, host):
        raise NotImplementedError


@dataclass
class ReleaseRequest(PlanRequest):
    plan: Plan = None
