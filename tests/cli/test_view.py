"""The command `view` as a user types it, and a robot of one's own through all that one asks."""

import json
import signal
import socket
import subprocess
import sys
import time

import pytest

OWN = """
kind    = "delta"
name    = "kestrel"
title   = "Kestrel"
summary = "A small Delta that nobody here has seen before."

[geometry]
source          = "drawing 17"
base_radius     = "140 mm"
platform_radius = "45 mm"
arm_length      = "230 mm"
rod_length      = "520 mm"
rod_spacing     = "70 mm"
azimuth         = { value = [30, 150, 270], unit = "deg" }

[bodies.arm]
source         = "scale"
mass           = "0.8 kg"
centre_of_mass = { value = [90, 0, 0], unit = "mm" }
inertia        = { value = [0.0006, 0.006, 0.006], unit = "kg m^2" }

[bodies.rod]
source         = "scale"
mass           = "0.09 kg"
centre_of_mass = { value = [260, 0, 0], unit = "mm" }
inertia        = { value = [1e-5, 0.002, 0.002], unit = "kg m^2" }

[bodies.platform]
source         = "scale"
mass           = "0.4 kg"
centre_of_mass = { value = [0, 0, -10], unit = "mm" }
inertia        = { value = [3e-4, 3e-4, 5e-4], unit = "kg m^2" }

[materials.tube]
source        = "maker"
young_modulus = "110 GPa"
poisson_ratio = 0.3
density       = "1600 kg/m^3"

[sections.rod]
source       = "maker"
shape        = "tube"
material     = "tube"
outer_radius = "6 mm"
inner_radius = "5 mm"

[motors.drives]
source        = "maker"
gear_ratio    = 25
rotor_inertia = "5e-5 kg m^2"
peak_torque   = "3 N m"
peak_speed    = "5000 rpm"

[limits]
source             = "own"
joint_angle        = { value = [-45, 95], unit = "deg" }
joint_speed        = "700 deg/s"
joint_acceleration = "9000 deg/s^2"
joint_jerk         = "8e5 deg/s^3"
rod_force          = "120 N"

[payloads.cup]
source         = "scale"
mass           = "0.3 kg"
centre_of_mass = { value = [0, 0, -50], unit = "mm" }
inertia        = { value = [1e-4, 1e-4, 1e-4], unit = "kg m^2" }
"""


@pytest.fixture
def closed(monkeypatch):
    """Viewers that end as soon as they are shown; the last one."""
    from triskele.viewer.view import Viewer

    shown = []
    monkeypatch.setattr(Viewer, "run", lambda viewer: shown.append(viewer))
    return shown


@pytest.fixture
def own(tmp_path):
    (tmp_path / "kestrel.toml").write_text(OWN, encoding="utf-8")
    return "kestrel.toml"


def test_it_says_where_and_serves_to_this_machine_only(cli, closed):
    result = cli("view", "abb_irb360_1130", "--port", "8151")
    assert result.code == 0, result.err
    assert result.out == "ABB IRB 360, 1130 mm is shown at http://localhost:8151; Ctrl-C ends it.\n"
    assert closed[0].server.get_host() == "127.0.0.1"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 8151))  # it was given back


def test_serving_to_others_is_said(cli, closed):
    result = cli("view", "abb_irb360_1130", "--host", "0.0.0.0", "--port", "8159")
    assert result.code == 0
    said = "--host 0.0.0.0: whoever reaches this machine can look, drag and play; no password."
    assert said in result.err
    assert "--host" not in cli("view", "abb_irb360_1130", "--port", "8161").err


def test_the_next_port_is_taken(cli, closed):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 8153))
        taken.listen()
        result = cli("view", "abb_irb360_1130", "--port", "8153")
    assert result.code == 0
    assert "localhost:8154" in result.out


def test_what_is_still_computed_when_it_ends_harms_nobody(cli, closed):
    result = cli("view", "abb_irb360_1130", "--motion", "circle", "--port", "8155")
    assert result.code == 0, result.err
    end = time.monotonic() + 60
    while closed[0].busy:  # an exception in its thread would fail this test
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_does_not_wait_for_what_is_computed():
    typed = ["view", "abb_irb360_6_1600", "--motion", "pick-and-place", "--port", "8157"]
    run = subprocess.Popen(
        [sys.executable, "-m", "triskele", *typed],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert run.stdout is not None
    assert "is shown at" in run.stdout.readline()
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 0
    assert err.endswith("ended\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nothing"], "nothing"),
        (["d3s_800", "--length", "0.2"], "--length shapes a motion; name one with --motion."),
        (["d3s_800", "--port", "0"], "--port is 0; it must be from 1 to 65535."),
        (["d3s_800", "--port", "http"], "not a whole number"),
        (["d3s_800", "--motion", "cirle"], "Did you mean 'circle'"),
        (["abb_irb360_6_1600", "--payload", "plates"], "Did you mean 'plate'"),
        (["compliant_3prs", "--motion", "circle"], "it can follow a line"),
        (["d3s_800", "--host", "999.1.1.1"], "Nothing can be served at 999.1.1.1"),
    ],
)
def test_mistakes_are_said_in_a_sentence(cli, closed, arguments, sentence):
    result = cli("view", *arguments)
    assert result.code == 2
    assert sentence in result.err
    assert result.err.startswith("triskele: ")
    assert closed == []


@pytest.mark.long
def test_a_robot_of_ones_own_goes_through_all_commands(cli, closed, own):
    """show, torques, plan, modes and view: nothing of it is in the program."""
    shown = cli("show", own, "--html", "kestrel.html")
    assert shown.code == 0, shown.err
    assert "Kestrel" in shown.out
    torques = cli("torques", own, "--payload", "cup", "--json")
    assert torques.code == 0, torques.err
    peaks = json.loads(torques.out)
    assert len(peaks["limits"]) > 10
    planned = cli("plan", own, "--payload", "cup", "--cells", "40", "--out", "plan.csv", "--json")
    assert planned.code == 0, planned.err
    assert 0.05 < json.loads(planned.out)["duration"] < 1.0
    modes = cli("modes", own, "--json")
    assert modes.code == 0, modes.err
    viewed = cli("view", own, "--motion", "plan.csv", "--payload", "cup", "--port", "8157")
    assert viewed.code == 0, viewed.err
    assert viewed.out.startswith("Kestrel is shown at")
    assert closed[-1].stage.border.room(closed[-1].stage.x) > 0
