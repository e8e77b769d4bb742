"""The wheel is built, unpacked elsewhere and used: what is not packaged is missing there."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from triskele.description import catalogue

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    done = subprocess.run([*command, str(ROOT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_carries_robots_templates_types_and_licence(wheel: Path):
    names = zipfile.ZipFile(wheel).namelist()
    for robot in catalogue.names():
        assert f"triskele/description/robots/{robot}.toml" in names
    for kind in catalogue.templates():
        assert f"triskele/description/templates/{kind}.toml" in names
    assert "triskele/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if name.startswith(("tests", "benchmarks", "docs"))]


def test_the_wheel_answers_when_it_is_installed_elsewhere(wheel: Path, tmp_path: Path):
    target = tmp_path / "elsewhere"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*install, "--target", str(target), str(wheel)], check=True)
    script = (
        f"import sys; sys.path.insert(0, {str(target)!r})\n"
        "import triskele; from triskele.cli import main\n"
        f"assert triskele.__file__.startswith({str(target)!r}), triskele.__file__\n"
        "sys.exit(main(['robots']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    for robot in catalogue.names():
        assert robot in done.stdout
