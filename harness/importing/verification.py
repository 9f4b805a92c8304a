"""Comparison of a collection's records with findings made by hand."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

from harness.errors import SpecError
from harness.model import Collection, Evidence, Location, Record
from harness.model.manifest import read_toml
from harness.model.submissions.expectation import ExpectedFinding, ExpectedFindings, Necessity
from harness.workspace import Workspace

FILE = "expected.toml"


class Agreement(StrEnum):
    """Relation of the records to one finding."""

    FOUND = "found"
    MISSING = "missing"
    ABSENT = "absent"
    PRESENT = "present"
    SEEN = "seen"
    NOT_SEEN = "not seen"
    UNGRADED = "not graded"


_SHOWN = {Necessity.MUST: Agreement.FOUND, Necessity.MAY: Agreement.SEEN, Necessity.NEVER: Agreement.PRESENT}
_NOT_SHOWN = {Necessity.MUST: Agreement.MISSING, Necessity.MAY: Agreement.NOT_SEEN, Necessity.NEVER: Agreement.ABSENT}


@dataclass(frozen=True)
class VerifiedFinding:
    """A finding made by hand, its agreement with the record, and the criteria that show it.

    A failure of the build shows as `build`.
    """

    finding: ExpectedFinding
    agreement: Agreement
    shown_by: tuple[str, ...] = ()

    @property
    def right(self) -> bool:
        """True if the record agrees."""
        wrong = (Agreement.MISSING, Agreement.PRESENT)
        ungraded = self.agreement is Agreement.UNGRADED and self.finding.kind is not Necessity.MAY
        return self.agreement not in wrong and not ungraded


def verify(findings: Iterable[ExpectedFinding], records: Mapping[str, Record]) -> list[VerifiedFinding]:
    """Compare findings with the records by `MODEL/CHALLENGE`."""
    return [_verify_finding(finding, records.get(finding.name)) for finding in findings]


def find_further_faults(
    findings: Iterable[ExpectedFinding], records: Mapping[str, Record]
) -> Iterator[tuple[str, str]]:
    """Yield submission and criterion of every fault in the records that no expected finding covers."""
    known = [finding for finding in findings if finding.kind is not Necessity.NEVER]
    for name, record in sorted(records.items()):
        for repaired in (False, True):
            about = (f for f in known if f.name == name and f.repaired is repaired)
            covered = {id for finding in about for id in _find_showing_criteria(finding, record)}
            repeated = record.build.criteria if record.build and not repaired else ()
            for item in _select_evidence(record, repaired=repaired):
                if item.faulty and item.criterion not in covered and item.criterion not in repeated:
                    yield f"{name}, repaired," if repaired else name, item.criterion


def read_findings(workspace: Workspace, collection: Collection) -> tuple[ExpectedFinding, ...]:
    """Return the findings beside a collection's manifest.

    Raises:
        SpecError: the file is missing or malformed, or names an unknown submission or criterion.
    """
    path = workspace.collection_folder(collection.id) / FILE
    found = read_toml(path, ExpectedFindings).findings
    for number, finding in enumerate(found):
        if finding.name not in collection.by_name:
            raise SpecError(path, f"{finding.name} is no answer of {collection.id}", field=f"findings.{number}")
        known = {criterion.id for criterion in workspace.challenge(finding.challenge).criteria}
        for id in finding.criteria:
            if id not in known:
                problem = f"{finding.challenge} has no criterion {id!r}"
                raise SpecError(path, problem, field=f"findings.{number}.criteria")
    return found


def _verify_finding(finding: ExpectedFinding, record: Record | None) -> VerifiedFinding:
    if record is None:
        return VerifiedFinding(finding, Agreement.UNGRADED)
    shown_by = tuple(_find_showing_criteria(finding, record))
    return VerifiedFinding(finding, (_SHOWN if shown_by else _NOT_SHOWN)[finding.kind], shown_by)


def _find_showing_criteria(finding: ExpectedFinding, record: Record) -> Iterator[str]:
    if finding.build:
        built = record.build
        caused = finding.cause in (None, record.repaired.cause if record.repaired else None)
        if built and built.stage == finding.build and caused and _matches_place(finding, built.locations):
            yield "build"
        return
    for item in _select_evidence(record, repaired=finding.repaired):
        if (not finding.criteria or item.criterion in finding.criteria) and _shows(finding, item):
            yield item.criterion


def _select_evidence(record: Record, *, repaired: bool) -> Sequence[Evidence]:
    if not repaired:
        return record.evidence
    return record.repaired.evidence if record.repaired else ()


def _shows(finding: ExpectedFinding, item: Evidence) -> bool:
    titles = (item.title, *(further.title for further in item.also))
    mutant = item.diagnosis.mutant if item.diagnosis else None
    return (
        item.outcome in finding.outcomes
        and item.rests_on is None
        and (not finding.titles or any(fnmatchcase(t, pattern) for t in titles for pattern in finding.titles))
        and (not finding.mutants or mutant in finding.mutants)
        and _matches_place(finding, item.locations)
        and _matches_figures(finding, item)
    )


def _matches_place(finding: ExpectedFinding, locations: Iterable[Location]) -> bool:
    places = {words for place in locations for words in (place.file, f"{place.file}:{place.line}")}
    return not finding.locations or not places.isdisjoint(finding.locations)


def _matches_figures(finding: ExpectedFinding, item: Evidence) -> bool:
    figures = (item.counterexample.measured if item.counterexample else {}) | item.measured
    values = {name: figures.get(name) for name in finding.measured}
    return all(
        isinstance(value, int | float) and finding.measured[name].least <= value <= finding.measured[name].most
        for name, value in values.items()
    )
