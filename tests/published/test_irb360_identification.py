import pytest
from study_checks import assert_complete

from triskele.studies import irb360_identification as study
from triskele.studies.catalogue import STUDIES


@pytest.mark.long
def test_the_study_reports_counts_errors_and_says_that_logs_are_synthetic():
    seen = []
    found = study.run(seen.append)
    rows = {row.quantity: row for row in found.findings}
    assert seen[-1] == 1.0
    assert "synthetic" in STUDIES[study.NAME].title
    assert rows["base parameters, by rank"].verdict == "reproduced"
    assert rows["standard inertial parameters"].ours == 51
    assert rows["unknowns of the consistent fit"].ours == 29
    for axis, most in enumerate((0.05, 0.10, 0.10, 0.01), 1):
        row = rows[f"error against torque without noise, consistent, axis {axis}"]
        assert row.ours < most
        assert "synthetic" in row.reason
    assert rows["held-out error, base, axis 4"].ours < 0.20
    assert rows["viscous friction of a ball if it is asked for (0.3 put in)"].ours == pytest.approx(
        0.3, rel=1e-3
    )
    for drive in (1, 2, 3):  # 0.28 to 0.45 with the arms alone
        row = rows[f"viscous friction of drive {drive} if balls rub and are left out"]
        assert 1.2 < row.ours < 1.8
    assert set(found.figures) == {"efforts", "parameters"}
    assert_complete(study, found)
