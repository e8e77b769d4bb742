"""What holds for every study: checks are listed and used, and exhibits show what there is."""

from types import ModuleType

from triskele.studies.study import Study


def assert_complete(module: ModuleType, study: Study) -> None:
    """Checks of findings are those of the module; exhibits name rows and figures of the study."""
    assert study.exhibits == module.EXHIBITS
    used = {finding.check for finding in study.findings if finding.check.independent}
    assert used == set(module.CHECKS.values())
    quantities = [finding.quantity for finding in study.findings]
    assert len(quantities) == len(set(quantities))
    for exhibit in study.exhibits:
        for start in exhibit.rows:
            assert any(name.startswith(start) for name in quantities), (exhibit.label, start)
        assert exhibit.figure == "" or exhibit.figure in study.figures, exhibit.label
