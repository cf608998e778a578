"""The paired timer on programs whose speed is known, and the worker protocol on a real one."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

import paired
import workers


class Fake:
    """Takes `ns` for each run, and ten times that for the first of a burst."""

    def __init__(self, ns: int):
        self.ns = ns
        self.bursts: list[int] = []

    def run(self, count: int) -> np.ndarray:
        self.bursts.append(count)
        return np.array([10 * self.ns] + [self.ns] * (count - 1))


def test_ratio_of_known_speeds() -> None:
    result = paired.measure(Fake(3_000_000), Fake(2_000_000), seconds=0.0, rounds=5)
    assert result.ratios.tolist() == [1.5] * 5
    assert paired.bootstrap_median(result.ratios) == (1.5, 1.5)


def test_burst_fills_its_time_after_warm_up() -> None:
    fast = Fake(1_000_000)
    paired.measure(fast, Fake(1_000_000_000), seconds=0.0, rounds=2, burst_seconds=0.1)
    assert fast.bursts == [1, 3, 111, 111]  # two probes, then 100 runs after 11 of warm-up


def test_interval_holds_the_median_and_shrinks() -> None:
    rng = np.random.default_rng(1)
    few, many = rng.normal(1.0, 0.1, 10), rng.normal(1.0, 0.1, 1000)
    low, high = paired.bootstrap_median(many)
    assert low < 1.0 < high
    wide = paired.bootstrap_median(few)
    assert high - low < wide[1] - wide[0]


def test_geometric_mean() -> None:
    mean, (low, high) = paired.bootstrap_geometric_mean([np.full(5, 0.5), np.full(5, 2.0), np.full(5, 8.0)])
    assert np.isclose([mean, low, high], 2.0).all()


def test_worker_runs_and_is_stopped_between_requests(tmp_path: Path) -> None:
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in ("x", "y")]
    node = helper.make_node("Neg", ["x"], ["y"], name="neg")
    graph = helper.make_graph([node], "neg", ports[:1], ports[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    path = tmp_path / "neg.onnx"
    onnx.save(model, path)
    feeds = {"x": np.zeros(7, np.float32)}
    assert workers.fixed_dimensions(path, feeds) == {"n": 7}
    with workers.ort_worker(path, 1, feeds, workers.save_feeds(feeds, tmp_path)) as worker:
        times = worker.run(5)
        assert len(times) == 5 and (times > 0).all()
        assert worker.peak_bytes() > 10_000_000
        fields = Path(f"/proc/{worker._process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        assert fields[0] == "T"
