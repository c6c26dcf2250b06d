"""Writes a verdict down: as a table for people, as JSON for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from engine.verify.comparing import Stage, worst_of
from engine.verify.measures import SEGMENT_RANGE_DB, Measure
from engine.verify.subject import SubjectFacts
from engine.verify.verification import Verdict

_COLUMNS = ("stage", "cosine", "max abs", "mean abs", "exact", "SNR dB", "", "")


def as_table(verdict: Verdict) -> str:
    """The verdict in aligned columns; of golden cases only the worst of every stage."""
    lines = [f"model:     {verdict.subject.describe()}"]
    if verdict.reference is not None:
        lines.append(f"reference: {verdict.reference.describe()}")
    sections = (
        ("Against the reference", verdict.compared),
        ("Against golden cases", worst_of(verdict.golden)),
        ("Against itself", verdict.self_checks),
    )
    rows = [_cells(stage) for _, stages in sections for stage in stages]
    widths = [max(map(len, column)) for column in zip(_COLUMNS, *rows, strict=True)]
    for title, stages in sections:
        if stages:
            lines += ["", title, _row(_COLUMNS, widths)]
            lines += [_row(_cells(stage), widths) for stage in stages]
    if verdict.findings or verdict.notes:
        lines.append("")
    lines += [f"{finding.severity}: {finding.message}" for finding in verdict.findings]
    lines += [f"note: {note}" for note in verdict.notes]
    return "\n".join([*lines, "", _conclusion(verdict)])


def as_json(verdict: Verdict) -> str:
    """The verdict as one JSON object; figures that are absent or no numbers are null."""
    failure = verdict.first_failure
    request = verdict.request
    reference = verdict.reference
    values = {
        "passed": verdict.passed,
        "first_failure": None if failure is None else failure.name,
        "model": _subject(verdict.subject),
        "reference": None if reference is None else _subject(reference),
        "request": {
            "text": request.text,
            "language": request.language,
            "speaker": request.speaker,
            "instruct": request.instruct,
            "cloned": request.voice is not None,
            "frames": request.sampling.max_frames,
            "seed": request.seeds[0],
        },
        "self_checks": [_stage(stage) for stage in verdict.self_checks],
        "stages": [_stage(stage) for stage in verdict.compared],
        "golden": [_stage(stage) for stage in verdict.golden],
        "findings": [
            {
                "kind": str(finding.kind),
                "severity": str(finding.severity),
                "value": _number(finding.value),
                "message": finding.message,
            }
            for finding in verdict.findings
        ],
        "notes": list(verdict.notes),
    }
    return json.dumps(values, allow_nan=False, ensure_ascii=False, indent=1)


def _conclusion(verdict: Verdict) -> str:
    failure = verdict.first_failure
    if verdict.passed:
        return _praise(verdict)
    if failure is None:
        return "Failed: the sound cannot be used."
    broken = sum(not stage.passed for stage in verdict.stages)
    count = sum(bool(stage.limits) for stage in verdict.stages)
    limits = ", ".join(
        f"{measure} {_figure(measure, failure.measures.get(measure))} instead of "
        f"{'at most' if measure.is_distance else 'at least'} {failure.limits[measure]:g}"
        for measure in failure.broken
    )
    where = f" of {failure.case}" if failure.case else ""
    note = f" ({failure.note})" if failure.note else ""
    return (
        f"Failed: {broken} of {count} stages miss their limits, the first is "
        f"{failure.name}{where}: {limits}{note}."
    )


def _praise(verdict: Verdict) -> str:
    """What the model has passed; without any comparison that is not much."""
    if not verdict.compared and not verdict.golden:
        return (
            f"Consistent with itself ({len(verdict.self_checks)} stages). Not compared with "
            "another file: add --against-model F32.gguf --against-codec F32.gguf."
        )
    limits = sum(len(stage.limits) for stage in verdict.stages)
    checks = sum(len(stage.limits) for stage in verdict.golden)
    cases = len({stage.case for stage in verdict.golden})
    shown = sum(not stage.limits for stage in verdict.stages)
    over = f" ({checks} checks over {cases} golden cases)" if cases else ""
    what = "stage is" if shown == 1 else "stages are"
    only = f"; {shown} {what} shown only" if shown else ""
    return f"Passed: {limits} limits kept{over}{only}."


def _cells(stage: Stage) -> tuple[str, ...]:
    figures = (_figure(measure, stage.measures.get(measure)) for measure in Measure)
    result = "(no limit)" if not stage.limits else "ok" if stage.passed else "FAILED"
    return (stage.name, *figures, result, stage.note)


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    name, *figures, result, note = cells
    columns = [f"{name:{widths[0]}}"]
    columns += [f"{cell:>{width}}" for cell, width in zip(figures, widths[1:-2], strict=True)]
    columns += [f"{result:{widths[-2]}}", note]
    return "  ".join(columns).rstrip()


def _figure(measure: Measure, value: float | None) -> str:
    if value is None:
        return ""
    if measure is Measure.COSINE:
        return f"{value:.7f}"
    if measure is Measure.EXACT:
        return f"{value:.2%}"
    if measure is Measure.SNR:
        highest = SEGMENT_RANGE_DB[1]  # no segment counts with more
        return f"{value:.1f}" if value < highest else f">={highest:g}"
    return f"{value:.1e}"


def _subject(facts: SubjectFacts) -> dict[str, str]:
    return {
        "talker": str(facts.pair.talker),
        "codec": str(facts.pair.codec),
        "device": str(facts.runtime.device),
        "precision": facts.precision,
        "talker_stored": facts.talker_stored.name,
        "codec_stored": facts.codec_stored.name,
    }


def _stage(stage: Stage) -> dict[str, Any]:
    figures = {
        str(measure).replace("-", "_"): _number(stage.measures.get(measure)) for measure in Measure
    }
    limits = {str(measure).replace("-", "_"): limit for measure, limit in stage.limits.items()}
    return {
        "stage": stage.name,
        "case": stage.case or None,
        **figures,
        "limits": limits,
        "passed": stage.passed,
        "note": stage.note,
    }


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
