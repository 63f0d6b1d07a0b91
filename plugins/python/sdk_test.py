"""Tests of the SDK against the vectors in specs; python_test.go runs them, once with numpy and once without."""

import json
import os
import pathlib
import socket
import sys
import tempfile
import threading
import types
import unittest

if os.environ.get("WITHOUT_NUMPY"):
    sys.modules["numpy"] = None  # an import of it fails

import dprelease
from dprelease import events, model, plugin, rows, scale, wire

VECTORS = pathlib.Path(__file__).parent / "../../specs/vectors"


class Events(unittest.TestCase):
    def test_canonical(self):
        """What a reader accepts, the SDK writes in the same bytes."""
        whole = lambda text: -0.0 if text == "-0" else int(text)
        accepted = 0
        for line in (VECTORS / "event/canonical.txt").read_text().splitlines():
            word, _, text = line.partition("\t")
            if word != "accept":
                continue
            ((kind, fields),) = json.loads(text, parse_int=whole).items()
            self.assertEqual(events.event(kind, fields).canonical.decode(), text)
            accepted += 1
        self.assertGreater(accepted, 20)

    def test_makers(self):
        lap = dprelease.discrete_laplace(2, replace_one=2)
        for made, want in [
            (lap, '{"discrete_laplace":{"scale":2,"sensitivity":{"replace-one":2}}}'),
            (dprelease.discrete_gaussian(1.5, 1, 2, 3),
             '{"discrete_gaussian":{"sigma":1.5,"sensitivity":{"add-remove":1,"replace-one":2},"coordinates":3}}'),
            (dprelease.discrete_gaussian(1e21), '{"discrete_gaussian":{"sigma":1e+21}}'),
            (dprelease.compose(dprelease.pure(1), dprelease.approx(1, 1e-7)), '{"compose":[{"pure":{"eps":1}},{"approx":{"eps":1,"delta":1e-7}}]}'),
            (dprelease.repeat(3, dprelease.bounded_range(0.25)), '{"repeat":{"n":3,"event":{"bounded_range":{"eps":0.25}}}}'),
            (dprelease.poisson(0.1, lap), '{"poisson":{"rate":0.1,"event":%s}}' % lap.canonical.decode()),
            (dprelease.shuffled(9, dprelease.randomized_response(3, 1)), '{"shuffled":{"n":9,"event":{"randomized_response":{"k":3,"eps0":1}}}}'),
        ]:
            self.assertEqual(made.canonical.decode(), want)
        with self.assertRaises(ValueError):
            dprelease.pure(float("nan"))


class Scale(unittest.TestCase):
    def vectors(self, name):
        lines = [l for l in (VECTORS / "scale" / name).read_text().splitlines() if not l.startswith("#")]
        self.assertGreater(len(lines), 20)
        return [[float(x) for x in l.split()] for l in lines]

    def test_laplace(self):
        for sensitivity, epsilon, want in self.vectors("laplace.txt"):
            self.assertEqual(scale.laplace_scale(sensitivity, epsilon), want)

    def test_gaussian(self):
        for sensitivity, epsilon, delta, want in self.vectors("gaussian.txt"):
            self.assertAlmostEqual(scale.gaussian_sigma(sensitivity, epsilon, delta) / want, 1, delta=1e-12)

    def test_refused(self):
        for pair in [(0, 1), (1, 0), (-1, 1), (1, float("inf")), (float("nan"), 1)]:
            with self.assertRaises(ValueError):
                scale.laplace_scale(*pair)
        self.assertEqual(scale.laplace_step(1, 0), 0)
        self.assertEqual(scale.laplace_step(1.5, 1), 2.0**-20)


class RowStream(unittest.TestCase):
    def test_vectors(self):
        names = sorted((VECTORS / "rows").glob("*.json"))
        self.assertGreater(len(names), 5)
        for name in names:
            with self.subTest(name.stem):
                self.check(json.loads(name.read_text()), name.with_suffix(".arrows").read_bytes())

    def check(self, vector, sent):
        columns = [model.Column(name=c["name"], type=c["type"], domain=c.get("domain", [])) for c in vector["columns"]]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows")
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(path)
            listener.listen(1)

            def send():
                peer, _ = listener.accept()
                for at in range(0, len(sent), 7):  # in small pieces
                    peer.sendall(sent[at:at + 7])
                peer.close()

            sender = threading.Thread(target=send)
            sender.start()
            stream = rows.Rows(path, columns)
            try:
                if vector.get("cut"):
                    with self.assertRaises(EOFError):
                        stream.drain()
                else:
                    self.compare(vector, columns, stream)
            finally:
                stream.close()
                sender.join()
                listener.close()

    def compare(self, vector, columns, stream):
        read = 0
        for batch in stream:
            self.assertEqual(rows.numpy is None, bool(os.environ.get("WITHOUT_NUMPY")))
            want = vector["batches"][read]
            self.assertEqual(len(batch), len(want))
            for at, column in enumerate(columns):
                values, valid = batch[column.name], batch.valid(at)
                for row in range(len(want)):
                    if want[row][at] is None:
                        self.assertTrue(values[row] == -1 if column.type == "category" else not valid[row])
                    else:
                        self.assertEqual(values[row], want[row][at])
                        self.assertTrue(valid is None or valid[row])
            weights = vector.get("weights")
            self.assertEqual(batch.weights if weights is None else list(batch.weights), weights and weights[read])
            read += 1
        self.assertEqual(read, len(vector["batches"]))
        stream.drain()


class Messages(unittest.TestCase):
    def test_there_and_back(self):
        public = model.Public("replace-one", ["replace-one"], 9, model.Design("full", rate=1.0),
                              [model.Column("g", "category", missing="impute", domain=["a"])], model.Cap(1, 2))
        request = model.PlanRequest({"column": "g"}, public, model.Point(0.5, 1e-6))
        self.assertEqual(wire.request(wire.fill(wire.message(wire.PACKAGE + "PlanRequest")(), request)), request)

    def test_later_host(self):
        """Fields that the SDK does not know are ignored (plugin-v1, section 4)."""
        sent = wire.fill(wire.message(wire.PACKAGE + "PlanRequest")(), model.PlanRequest({}, model.Public(columns=[]), model.Point(1.0)))
        later = wire.message(wire.PACKAGE + "PlanRequest").FromString(sent.SerializeToString() + b"\xf8\x3e\x01")
        self.assertEqual(wire.request(later), wire.request(sent))

    def test_unknown_words(self):
        sent = wire.message(wire.PACKAGE + "PlanRequest")()
        sent.public.relation = 7
        with self.assertRaises(KeyError):
            wire.request(sent)
        with self.assertRaises(KeyError):
            wire.description(model.Description("a", "1", relations=["none"]))


class Results(unittest.TestCase):
    plan = model.Plan(["x"], dprelease.pure(1), [model.Field("v"), model.Field("n", "int64"), model.Field("s", "string")], rows=2)

    def test_pieces(self):
        (m,) = plugin.pieces(self.plan, {"v": [1, 2.5], "n": [3, 4], "s": ["a", "b"]})
        self.assertEqual([c.name for c in m.columns], ["v", "n", "s"])
        self.assertEqual((list(m.columns[0].float64), list(m.columns[1].int64), list(m.columns[2].string)), ([1, 2.5], [3, 4], ["a", "b"]))

    def test_large(self):
        plan = model.Plan(["x"], dprelease.pure(1), [model.Field("v")], rows=300_000)
        out = list(plugin.pieces(plan, {"v": [0.5] * plan.rows}))
        self.assertGreater(len(out), 1)
        self.assertEqual(sum(len(m.columns[0].float64) for m in out), plan.rows)
        self.assertLess(max(m.ByteSize() for m in out), 1 << 21)

    def test_shape(self):
        for bad in [{"v": [1, 2]}, {"v": [1], "n": [1], "s": ["a"]}, {"v": [1, 2], "n": [1, 2], "s": ["a", "b" * 1025]},
                    {"v": [1, 2], "n": [1, 2], "s": ["a", "b"], "w": [1, 2]}]:
            with self.assertRaises(plugin.Bad):
                list(plugin.pieces(self.plan, bad))

    def test_names(self):
        mechanism = lambda name: types.SimpleNamespace(describe=lambda: model.Description(name, "1"))
        for names in [["a", "a"], ["A"], ["../etc"]]:
            with self.assertRaises(ValueError):
                plugin.Plugin([mechanism(n) for n in names])


if __name__ == "__main__":
    unittest.main()
