"""Write `tests/seconds.csv` from what a run of the tests measured.

    export HARNESS_TEST_ALL=1; .venv/bin/python -m pytest --junitxml=run.xml; .venv/bin/python -m tests.seconds run.xml

Functions that the run left out keep the time they had. After a run of a share, set no `HARNESS_TEST_ALL`: then it adds
functions alone that had no time, for those ran whole.
"""

import csv
import sys
from collections import Counter
from xml.etree import ElementTree

from tests.shares import CHECKOUT, MEASURED, SECONDS_OF_A_FUNCTION, everything, seconds_of_functions


def main(report: str) -> None:
    """Bring the times of the functions that `report`, a JUnit file, names up to date."""
    measured: Counter[str] = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        measured[_node(case)] += float(case.get("time", 0))  # type: ignore[assignment]
    known = {
        name: seconds for name, seconds in seconds_of_functions().items() if (CHECKOUT / name.split("::")[0]).exists()
    }
    newest = {**known, **measured} if everything() else {**measured, **known}
    listed = {name: seconds for name, seconds in newest.items() if round(seconds) > SECONDS_OF_A_FUNCTION}
    with MEASURED.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("function", "seconds"))
        rows.writerows((name, f"{listed[name]:.0f}") for name in sorted(listed))


def _node(case: ElementTree.Element) -> str:
    """Return pytest's name of the function of a case: file, classes if any, and function."""
    module = case.get("classname", "").split("@")[0].split(".")
    file = [part for part in module if not part[:1].isupper()]
    name = case.get("name", "").split("@")[0].split("[")[0]
    return "::".join([f"{'/'.join(file)}.py", *module[len(file) :], name])


if __name__ == "__main__":
    main(*sys.argv[1:])
