"""The examination of a machine and a package: facts, known defects, the questions, and what stands in the way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernelscope import cli
from kernelscope.advice import doctor
from kernelscope.advice.doctor import Answer, PackageFacts, examine, family_of
from kernelscope.advice.environment import Environment
from kernelscope.cpp_wrapper.producer import Producer, producer_of

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures"
BARE = Environment("3.11.0", "Linux", None, None, None, None, "torch is not installed", ())
FULL = Environment("3.11.0", "Linux", "2.14.1", "3.8.0", "g++", "include", None, ())


def examined(name: str, monkeypatch: pytest.MonkeyPatch, environment: Environment = FULL) -> PackageFacts:
    monkeypatch.setattr(doctor, "this_environment", lambda: environment)
    package = examine(str(FIXTURES / name)).package
    assert package is not None
    return package


@pytest.mark.parametrize(
    ("name", "producer", "capability"),
    [
        ("layernorm.unbounded.pt2", Producer.FROM_2_14, "sm_90a"),
        ("torch211/layernorm.unbounded.pt2", Producer.FROM_2_11, "sm_90a"),
        ("torch28/layernorm.unbounded.pt2", Producer.TO_2_10, "sm_90a"),
    ],
)
def test_the_package_tells_who_wrote_it_and_for_which_gpu(
    name: str, producer: Producer, capability: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (model,) = examined(name, monkeypatch).models
    assert (model.producer, model.capability, model.device) == (producer, capability, "cuda")


def test_the_questions_are_answered_from_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = examined("torch28/i64bound.huge.pt2", monkeypatch).questions
    assert [q.answer for q in questions] == [Answer.YES] * 4
    assert "out-of-bounds access" in questions[2].evidence


def test_a_safe_package_points_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    package = examined("cat.small.pt2", monkeypatch)
    assert package.questions[1].answer is Answer.NO and package.questions[2].answer is Answer.NO


def test_what_torch_compile_runs_is_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    package = examined("extra/outer.unbounded.py", monkeypatch)
    assert package.questions[0].answer is Answer.NO
    assert package.models[0].defects == () and "Python wrapper" in package.models[0].obstacles[0]


@pytest.mark.parametrize(
    ("name", "environment", "obstacle"),
    [
        ("layernorm.unbounded.pt2", BARE, "pip install 'kernelscope[build]'"),
        ("torch28/layernorm.unbounded.pt2", FULL, "a wrapper only with the torch that wrote it"),
    ],
)
def test_what_stands_in_the_way_of_patching_is_named(
    name: str, environment: Environment, obstacle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert obstacle in "; ".join(examined(name, monkeypatch, environment).models[0].obstacles)


def test_nothing_stands_in_the_way_of_patching_with_everything_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert examined("layernorm.unbounded.pt2", monkeypatch).models[0].obstacles == ()


@pytest.mark.parametrize(
    ("torch", "family"),
    [
        ("2.8.0+cu128", "2.8"),
        ("2.10.1", "2.8"),
        ("2.11.0", "2.11"),
        ("2.13.0", "2.11"),
        ("2.14.1", "2.14"),
        ("3.0", "2.14"),
    ],
)
def test_versions_write_like_their_family(torch: str, family: str) -> None:
    assert family_of(torch) is Producer(family)


def test_a_wrapper_without_launches_has_no_producer() -> None:
    assert producer_of("void run() {}") is None


def test_without_a_package_the_defects_of_the_installed_torch_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "this_environment", lambda: FULL)
    assert "surplus-programs" in {d.id for d in examine().defects}
    monkeypatch.setattr(doctor, "this_environment", lambda: BARE)
    assert examine().defects == ()


def test_the_text_fits_a_screen_and_names_the_defect() -> None:
    done = CliRunner().invoke(cli.main, ["doctor", str(FIXTURES / "torch28" / "i64bound.huge.pt2")])
    lines = done.stdout.splitlines()
    assert done.exit_code == 1 and len(lines) <= 50 and max(map(len, lines)) <= 80
    assert "range-ignored" in done.stdout and "fixed in torch 2.11" in " ".join(done.stdout.split())


def test_json_has_machine_and_package() -> None:
    done = CliRunner().invoke(cli.main, ["doctor", str(FIXTURES / "cat.small.pt2"), "--format", "json"])
    document = json.loads(done.stdout)
    assert done.exit_code == 0 and document["package"]["verdict"] == "safe" and document["environment"]["python"]


def test_a_path_that_is_not_there_is_one_line() -> None:
    done = CliRunner().invoke(cli.main, ["doctor", "nowhere.pt2"])
    assert done.exit_code == 2 and done.stderr.count("\n") == 1
