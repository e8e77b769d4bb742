"""Logs with one thing wrong: what the verdict makes of them. `seeded.py` prints the whole table."""

import numpy as np
import pytest
import seeded
from seeded import KINDS, ROBOTS, Fault, drawn, outcome

from triskele.description.load import load
from triskele.description.schema import Limits
from triskele.identification.identify import identify
from triskele.identification.probes import probes
from triskele.kinematics.build import build

pytestmark = pytest.mark.long
QUICK = "kossel_mini"
SURE = ("delay", "gain", "common gain", "payload", "stribeck", "curved friction", "zero")
ROWS = ("turned", "held", "clipped", "gear")


@pytest.mark.parametrize("kind", [*SURE, *ROWS])
def test_a_fault_is_named_and_the_robot_is_not_to_be_used(kind):
    found = outcome(QUICK, 1, Fault(kind, 1, 0.4))
    assert found.named, found.sentences
    assert found.refused


def test_an_elastic_drive_that_biases_is_named():
    found = outcome("omron_mini_delta", 2, Fault("elastic", 1, 0.2))
    assert found.named, found.sentences
    assert not found.usable


def test_a_clean_log_is_used_and_its_intervals_hold():
    found = outcome(QUICK, 1)
    assert found.usable, found.sentences
    assert np.mean(found.inside) > 0.8


@pytest.mark.parametrize("kind", [None, "common gain", "payload"])
def test_without_a_known_mass_there_is_no_green_and_the_remedy_is_named(kind):
    """Neither can be told from heavier bodies: not that it is there, nor that it is not."""
    known = seeded.truth(QUICK, 1)
    fault = None if kind is None else Fault(kind, 0, 0.4)
    logs = [seeded.log(known.robot, m, fault, [1, i]) for i, m in enumerate(known.motions[:2])]
    file = known.file.model_copy(update={"weighed": None})
    verdict = identify(file, logs[:1], logs[1:]).verdict
    said = " ".join(verdict.recommendation)
    assert not verdict.usable
    assert "gain common to all drives cannot be told apart from heavier bodies" in said
    assert "--loaded and --added" in said
    assert "payload never mentioned cannot be told apart from a heavier platform" in said


def test_a_log_with_a_known_mass_gives_the_gain_of_all_drives():
    """The mass added asks for efforts of its own: what is measured of them is the gain."""
    found = outcome(QUICK, 1, Fault("common gain", 0, 1.0))  # 20 %
    sentence = next(text for text in found.sentences if "what the mass added asks for" in text)
    words = sentence[sentence.index("Gain: ") :].split()
    assert abs(float(words[6]) - 1.2) < 0.03, sentence  # to first order


def test_no_green_without_a_log_held_out():
    found = outcome(QUICK, 1, held_out=False)
    assert not found.usable
    assert not found.refused


def test_probes_stay_where_the_robot_works_if_the_file_has_no_limits():
    """Without limits a walk from home ends at singular poses, far outside of what was recorded."""
    mechanism = build(load("omron_mini_delta"))
    middle, half = np.array([0.0, 0.0, -0.36]), np.array([0.05, 0.05, 0.03])
    worked = middle + half * np.array([[-1.0], [1.0]])
    near = probes(mechanism, Limits(), worked).x
    assert (np.abs(near - middle) <= 1.2 * half + 1e-12).all()
    assert (np.abs(probes(mechanism, Limits()).x - middle).max(axis=0) > 2 * half).all()
    stated = load("omron_mini_delta").limits
    assert np.allclose(probes(mechanism, stated, worked).x, probes(mechanism, stated).x)


@pytest.mark.slow
def test_verdicts_of_logs_with_seeded_faults_and_of_clean_ones():
    """A fifth of the study: what must be shown, with room for chance."""
    found = [outcome(name, i, fault) for i in range(36) for name, fault in [drawn(i)]]
    good = [outcome(ROBOTS[i % 3], 1000 + i) for i in range(36)]
    print("\n".join(seeded.table(found, good)))
    biased = [o for o in found if o.furthest > 3]
    assert len(biased) > 15
    assert {o.fault.kind for o in found} == set(KINDS)
    assert np.mean([not o.usable for o in biased]) >= 0.95
    assert np.mean([o.named for o in found]) >= 0.8
    assert np.mean([o.refused for o in good]) <= 0.06
    for name in ROBOTS:
        inside = np.concatenate([o.inside for o in good if o.robot == name])
        assert 0.88 < inside.mean() < 0.995
