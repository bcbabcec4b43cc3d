"""How figures are taken and written down: in turn, by medians, misses included."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench import __main__ as bench
from bench.measure import Figure, interleaved, percentile, table, write_json


def scripted(values: list[float], name: str, order: list[str]) -> Callable[[], float]:
    left: Iterator[float] = iter(values)

    def sample() -> float:
        order.append(name)
        return next(left)

    return sample


@pytest.mark.requirement("RK-PROC-017")
def test_samples_are_taken_in_turn_and_the_warm_up_is_lost() -> None:
    order: list[str] = []
    ours = scripted([9.0, 1.0, 2.0], "ours", order)
    theirs = scripted([8.0, 3.0, 4.0], "theirs", order)

    assert ((1.0, 2.0), (3.0, 4.0)) == interleaved(ours, theirs, rounds=2, warm_up=1)
    assert ["theirs", "ours", "ours", "theirs", "theirs", "ours"] == order


@pytest.mark.requirement("RK-PROC-017")
def test_the_ratio_is_of_medians_and_one_outlier_does_not_move_it() -> None:
    figure = Figure("x", "y", 0.6, (1.0, 100.0, 1.0), (2.0, 2.0, 2.0))

    assert (0.5, True) == (figure.ratio, figure.met)


@pytest.mark.requirement("RK-PROC-017")
def test_a_missed_figure_stays_in_table_and_file(tmp_path: Path) -> None:
    figures = [
        Figure("hit", "a", 1.0, (1.0,), (2.0,)),
        Figure("miss", "b", 0.9, (2.0,), (2.0,), with_p99=True),
    ]
    write_json(figures, tmp_path / "build" / "bench.json")
    lines = table(figures).splitlines()

    assert [
        {"id": "hit", "against": "a", "ratio": 0.5, "goal": 1.0},
        {"id": "miss", "against": "b", "ratio": 1.0, "goal": 0.9},
    ] == json.loads((tmp_path / "build" / "bench.json").read_bytes())
    assert ["hit", "1000.000", "2000.000", "0.50", "1.00", "met", "a"] == lines[1].split()
    assert ["miss", "2000.000", "2000.000", "1.00", "0.90", "MISSED", "b"] == lines[2].split()
    assert ["miss: p99 ours 2000.000 ms, baseline 2000.000 ms"] == lines[3:]


@pytest.mark.requirement("RK-PROC-017")
@pytest.mark.parametrize(("asked", "written"), [([], ["a", "b"]), (["b", "a"], ["a", "b"]), (["a"], None)])
def test_a_run_of_some_figures_leaves_the_file_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[str], written: list[str] | None
) -> None:
    output = tmp_path / "bench.json"
    output.write_text("[]", encoding="utf-8")

    def take(name: str) -> Callable[[object, int], Figure]:
        return lambda home, rounds: Figure(name, "x", 1.0, (1.0,), (2.0,))

    monkeypatch.setattr(bench, "Bench", lambda base: base)
    monkeypatch.setattr(bench, "FIGURES", {name: (take(name), 1) for name in "ab"})
    monkeypatch.setattr(bench, "OUTPUT", output)
    monkeypatch.setattr("sys.argv", ["bench", *asked])

    assert 0 == bench.main()
    assert (written or []) == [row["id"] for row in json.loads(output.read_bytes())]


PERCENTILES = {
    "of one": ((5.0,), 0.99, 5.0),
    "the middle of three": ((3.0, 1.0, 2.0), 0.5, 2.0),
    "99 of 100": (tuple(float(n) for n in range(1, 101)), 0.99, 99.0),
    "99 of 200": (tuple(float(n) for n in range(1, 201)), 0.99, 198.0),
}


@pytest.mark.parametrize("name", PERCENTILES)
def test_a_percentile_is_the_smallest_sample_that_the_share_does_not_exceed(name: str) -> None:
    samples, share, expected = PERCENTILES[name]

    assert expected == percentile(samples, share)
