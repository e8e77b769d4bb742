"""The robots that ship with the package, and the templates for new ones."""

from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from triskele.errors import UnknownName, did_you_mean


def _folder(name: str) -> Traversable:
    return files("triskele.description") / name


@lru_cache(maxsize=2)
def _listed(folder: str) -> tuple[str, ...]:
    """Names of the TOML files in a folder, in alphabetical order."""
    files_there = (entry.name for entry in _folder(folder).iterdir())
    return tuple(
        sorted(name.removesuffix(".toml") for name in files_there if name.endswith(".toml"))
    )


def names() -> tuple[str, ...]:
    """Names of the shipped robots, in alphabetical order."""
    return _listed("robots")


def text(name: str) -> str:
    """The TOML file of the shipped robot `name`."""
    if name not in names():
        raise UnknownName(
            f"No robot is called '{name}'. {did_you_mean(name, names())} "
            "For a file of your own, give its path, ending in .toml."
        )
    return (_folder("robots") / f"{name}.toml").read_text(encoding="utf-8")


def templates() -> tuple[str, ...]:
    """What there are templates for, in alphabetical order."""
    return _listed("templates")


def template(kind: str) -> str:
    """A commented robot file, one of `templates()`, ready to be edited."""
    if kind not in templates():
        raise UnknownName(f"There is no template '{kind}'. {did_you_mean(kind, templates())}")
    return (_folder("templates") / f"{kind}.toml").read_text(encoding="utf-8")
