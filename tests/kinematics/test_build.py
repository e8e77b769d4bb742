"""From robot files to mechanisms."""

import jax
import numpy as np
import pytest

from triskele.description import catalogue
from triskele.description.load import load, parse
from triskele.errors import DescriptionError, PrecisionError
from triskele.kinematics.build import build
from triskele.kinematics.delta import Delta
from triskele.kinematics.prs import Prs


@pytest.mark.parametrize("name", catalogue.names())
def test_each_shipped_robot_closes_at_home(name):
    mechanism = build(load(name))
    home = mechanism.home()
    q = mechanism.inverse(home)
    assert isinstance(mechanism, Prs if name == "compliant_3prs" else Delta)
    assert float(q.margin) > 0.1
    residual = np.abs(np.asarray(mechanism.closure(q.components, home))).max()
    assert residual < 1e-15
    assert len(mechanism.bodies) == len(mechanism.body_poses(q.components, home))
    assert len(mechanism.passive_coordinates) == len(mechanism.passive(q.components, home))


@pytest.mark.parametrize("kind", ["delta", "3prs"])
def test_templates_can_be_built(kind):
    assert build(parse(catalogue.template(kind))).working_mode == (1, 1, 1)


def test_rods_too_short_to_reach_the_platform_are_named():
    text = catalogue.template("delta").replace('"700 mm"', '"100 mm"')
    text = text.replace('base_radius     = "200 mm"', 'base_radius     = "600 mm"')
    with pytest.raises(DescriptionError, match=r"cannot be assembled.*rod"):
        build(parse(text))


def test_arms_that_close_only_when_lowered_have_a_lower_home():
    # base 200 + arm 300 - platform 50 = 450 mm: rods of 420 mm cannot span level arms.
    text = catalogue.template("delta").replace('"700 mm"', '"420 mm"')
    mechanism = build(parse(text))
    q = np.degrees(np.asarray(mechanism.inverse(mechanism.home()).value))
    # Across 150 mm, the wrist is (150 + 720) / 2 = 435 mm from its motor: by the law of cosines
    # the arm is acos((300^2 + 435^2 - 420^2) / (2 * 300 * 435)) above that line.
    line = np.degrees(np.arccos(150 / 435))
    above = np.degrees(np.arccos((300**2 + 435**2 - 420**2) / (2 * 300 * 435)))
    assert np.allclose(q, 180 - line - above, atol=1e-9)


def test_single_precision_is_refused():
    with jax.enable_x64(False), pytest.raises(PrecisionError, match="32 bit"):
        build(load("d3s_800"))
