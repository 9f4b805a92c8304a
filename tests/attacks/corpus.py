"""All attacks and benign twins, each judged by a grader of its own."""

import atexit
import importlib
import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.sandbox import Tier, detect
from tests.attacks.attack import Attack
from tests.attacks.judge import Verdict
from tests.attacks.nursery import Nursery

HERE = Path(__file__).parent
MODULES = ("credit_*.py", "harm_*.py", "cuda_*.py", "twins_*.py")
_OWN = threading.local()
"""The nursery of each thread."""


def attacks(*patterns: str) -> dict[str, Attack]:
    """Attacks and twins by `NAME @ CHALLENGE`, of the modules that match one of `patterns`; of all without any.

    Raises:
        ValueError: two have the same name.
    """
    found: dict[str, Attack] = {}
    for path in sorted(path for pattern in patterns or MODULES for path in HERE.glob(pattern)):
        for attack in importlib.import_module(f"tests.attacks.{path.stem}").ATTACKS:
            if found.setdefault(key(attack), attack) is not attack:
                raise ValueError(f"{path.name}: there are two attacks {key(attack)!r}")
    return found


def key(attack: Attack) -> str:
    """What an attack is asked for by."""
    return f"{attack.name} @ {attack.challenge}"


def verdict_on(attack: Attack) -> Verdict:
    """What becomes of one attack, judged in a process of its own."""
    nursery: Nursery | None = getattr(_OWN, "nursery", None)
    if nursery is None or not nursery.alive:
        nursery = _OWN.nursery = Nursery()
        atexit.register(nursery.close)
    return nursery.verdict_on(attack)


def expect_right(attack: Attack) -> None:
    """Fail the running test unless the attack comes to what it must; skip it where its target is out of reach."""
    tier = str(detect())
    if not reachable(attack, tier):
        pytest.skip(f"its target cannot be reached in tier {tier}")
    verdict = verdict_on(attack)
    if verdict.wrong:
        pytest.fail(f"{'; '.join(verdict.wrong)} ({verdict.seconds} s; seen: {verdict.seen})", pytrace=False)


def run(
    chosen: Iterable[Attack], jobs: int, progress: Callable[[Verdict], None] = lambda verdict: None
) -> list[Verdict]:
    """Judge all of them, `jobs` at a time, first those that take longest: with tests of their own."""
    verdicts = []
    with ThreadPoolExecutor(jobs) as workers:
        for verdict in workers.map(verdict_on, sorted(chosen, key=lambda attack: not attack.tests)):
            progress(verdict)
            verdicts.append(verdict)
    return verdicts


def reachable(attack: Attack, tier: str) -> bool:
    """Whether the attack's target can be reached in a tier at all; without isolation everything can."""
    return tier == Tier.UNSAFE or tier in attack.tiers


def table(verdicts: Sequence[Verdict], markdown: bool = False) -> Iterator[str]:
    """Lines of the table: per class how many were caught, and which escaped; twins and false alarms last."""
    rows = [("class", "caught", "signalled", "seconds", "escaped")]
    hostile = [v for v in verdicts if not v.twin]
    for kind in sorted({v.kind for v in hostile}):
        rows.append(_row(kind, [v for v in hostile if v.kind == kind]))
    rows.append(_row("all attacks", hostile))
    twins = [v for v in verdicts if v.twin]
    alarms = [v for v in twins if v.wrong]
    rows.append(("benign twins", f"{len(alarms)} false alarms of {len(twins)}", "", _seconds(twins), _names(alarms)))
    if markdown:
        rows.insert(1, ("---", "---:", "---:", "---:", "---"))
        yield from ("| " + " | ".join(row) + " |" for row in rows)
        return
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    for row in rows:
        first, *others, escaped = row
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        yield "  ".join((first.ljust(widths[0]), *cells, escaped)).rstrip()


def stated(page: str, tier: str) -> dict[str, str]:
    """What a page's table says of a tier, by class: `8 of 8`.

    Args:
        page: Markdown with a table whose first column is headed `class` and another one `tier A`.
        tier: "A", "B" or "C".
    """
    lines = page.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("| class |"))
    table = itertools.takewhile(lambda line: line.startswith("|"), lines[start:])
    head, _, *rows = ([cell.strip(" *") for cell in line.strip("|").split("|")] for line in table)
    return {row[0]: row[head.index(f"tier {tier}")] for row in rows}


def counted(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """What a page's table must say of these verdicts, in the form of `stated`."""
    hostile = [v for v in verdicts if not v.twin]
    by_kind = {kind: [v for v in hostile if v.kind == kind] for kind in {v.kind for v in hostile}}
    twins = [v for v in verdicts if v.twin]
    return {
        **{kind: _caught(of_kind) for kind, of_kind in by_kind.items()},
        "all attacks, caught": _caught(hostile),
        "honest answers, false alarms": f"{sum(bool(v.wrong) for v in twins)} of {len(twins)}",
    }


def _caught(verdicts: Sequence[Verdict]) -> str:
    return f"{sum(not v.wrong for v in verdicts)} of {len(verdicts)}"


def _row(kind: str, verdicts: Sequence[Verdict]) -> tuple[str, str, str, str, str]:
    escaped = [v for v in verdicts if v.wrong]
    raised = sum(bool(v.signals) for v in verdicts)
    return kind, _caught(verdicts), str(raised), _seconds(verdicts), _names(escaped)


def _seconds(verdicts: Sequence[Verdict]) -> str:
    return f"{sum(v.seconds for v in verdicts):.0f}"


def _names(verdicts: Sequence[Verdict]) -> str:
    by_name = Counter(v.name for v in verdicts)
    return ", ".join(f"{name} ({count})" if count > 1 else name for name, count in by_name.items())
