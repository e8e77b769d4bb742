"""Every public name exists, is documented, and comes from the module that defines it."""

import ast
import subprocess
import sys
import types
import typing
from importlib import import_module
from pathlib import Path

import pytest

import triskele

SOURCE = Path(triskele.__file__)
STUB = ast.parse(SOURCE.with_suffix(".pyi").read_text(encoding="utf-8"))


def stub_names() -> dict[str, tuple[str, str]]:
    """Home and name there of what a type checker sees: `import a as a`, and assignments."""
    modules, names = {}, {}
    for line in STUB.body:
        if isinstance(line, ast.ImportFrom):
            for alias in line.names:
                if alias.asname == alias.name:
                    names[alias.name] = (line.module, alias.name)
                elif alias.asname is not None:
                    modules[alias.asname] = f"{line.module}.{alias.name}"
        elif isinstance(line, ast.Assign):
            ((target,), value) = line.targets, line.value
            assert isinstance(target, ast.Name)
            assert isinstance(value, ast.Attribute)
            assert isinstance(value.value, ast.Name)
            names[target.id] = (modules[value.value.id], value.attr)
    return names


HOMES = stub_names()


def test_types_and_names_agree():
    assert sorted(HOMES) == sorted(triskele.__all__)
    assert len(set(triskele.__all__)) == len(triskele.__all__) > 40
    assert triskele._PUBLIC == HOMES  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("name", HOMES)
def test_a_public_name_is_what_its_module_defines_and_is_documented(name):
    home, original = HOMES[name]
    value = getattr(triskele, name)
    if home == "triskele":  # a package of its own
        assert value is import_module(f"triskele.{original}")
        assert value.__doc__
        return
    assert value is getattr(import_module(home), original)
    if isinstance(value, types.UnionType):
        assert all(part.__doc__ for part in typing.get_args(value))
        return
    assert value.__module__ == home
    assert getattr(import_module(home), value.__name__) is value  # or another name for it
    assert value.__doc__
    assert value.__doc__.strip()[0].isupper() or value.__doc__.strip()[0] in "`0123456789"


def test_names_are_imported_when_first_used():
    code = (
        "import sys, triskele as tk; "
        "assert not {'jax', 'numpy', 'pydantic'} & set(sys.modules); "
        "assert set(tk.__all__) <= set(dir(tk)); "
        "tk.robots(); tk.load('d3s_800'); assert 'jax' not in sys.modules; "
        "assert 'load' in vars(tk) and 'build' not in vars(tk); "
        "tk.build; assert 'jax' in sys.modules and 'build' in vars(tk)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_dir_lists_the_public_names():
    assert set(triskele.__all__) <= set(dir(triskele))
    assert dir(triskele) == sorted(set(dir(triskele)))


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'triskele' has no attribute 'bild'"):
        triskele.bild  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]
    assert not hasattr(triskele, "names")


def test_a_star_imports_the_public_names_alone():
    found: dict[str, object] = {}
    exec("from triskele import *", found)
    assert set(found) - {"__builtins__"} == set(triskele.__all__)
