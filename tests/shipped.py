"""The shipped robots as parameters of tests that compile their forward positions.

Those made of limbs take seconds each; two of them stay in `make test`.
"""

import pytest

from triskele.description import catalogue
from triskele.description.load import load

QUICK = ("five_bar", "kossel_mini")  # Newton's method for two coordinates; three spheres
SHIPPED = [
    pytest.param(name, marks=pytest.mark.long)
    if load(name).kind == "limbs" and name not in QUICK
    else name
    for name in catalogue.names()
]
