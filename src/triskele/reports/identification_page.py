"""The verdict of an identification as one page of HTML, its figures inside."""

from triskele.identification.identify import Identified
from triskele.reports.identification_figures import efforts_figure, parameters_figure
from triskele.reports.page import heading, image, listing, page, paragraph, table


def identification_page(found: Identified) -> str:
    """The page; it needs no other file."""
    verdict = found.verdict
    first, *others = verdict.recommendation
    names = ", ".join(log.name for log in found.logs)
    held = ", ".join(log.name for log in found.held_out) or "none"
    return page(
        f"{found.robot.title}: identification",
        paragraph(first, "good" if verdict.usable else "bad"),
        listing(others),
        paragraph(
            f"Fitted: {names}. Held out: {held}. Condition number {verdict.condition:.0f}, "
            f"{verdict.rank} base parameters, gap {verdict.gap:.1e}."
        ),
        heading("Errors"),
        paragraph("Root mean squares of each drive [N m, N]."),
        _errors(found),
        image(efforts_figure(found)),
        heading("Parameters"),
        table(
            ("base parameter", "value", "+- 95 %", "file", "unit"),
            [
                (p.formula, f"{p.value:.5g}", p.plus_minus, f"{p.file:.5g}", p.unit)
                for p in verdict.parameters
            ],
        ),
        image(parameters_figure(found)),
        paragraph(f"Not told by these logs: {', '.join(verdict.prior_only) or 'none'}."),
        paragraph(
            "Least scaled eigenvalue of the mass matrix over the workspace: "
            f"{verdict.least_inertia:.3g}; of base parameters alone: "
            f"{verdict.least_inertia_base:.3g}."
        ),
    )


def _errors(found: Identified) -> str:
    verdict = found.verdict
    header = ["drive", "effort", "fit", "base fit", "noise"]
    columns = [verdict.effort, verdict.fitted.consistent, verdict.fitted.base, verdict.noise]
    if verdict.held_out is not None:
        header += ["held out", "base held out"]
        columns += [verdict.held_out.consistent, verdict.held_out.base]
    if verdict.at_rest is not None:
        header.append("at rest")
        columns.append(verdict.at_rest)
    rows = [
        (str(k + 1), *(f"{column[k]:.4g}" for column in columns), f"{100 * share:.0f}")
        for k, share in enumerate(verdict.effective)
    ]
    return table((*header, "independent %"), rows)
