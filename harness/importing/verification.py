"""Records of a collection held to what was found in its answers by hand: field by field, no sentence is read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

from harness.errors import SpecError
from harness.model import Collection, Evidence, Location, Record
from harness.model.expectation import ExpectedFinding, ExpectedFindings, Necessity
from harness.model.manifest import read_toml
from harness.workspace import Workspace

FILE = "expected.toml"


class Agreement(StrEnum):
    """How the records stand to one finding."""

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
    """One finding and what the records say of it.

    Attributes:
        finding: what was found by hand.
        agreement: how the record stands to it.
        shown_by: the criteria that show it; `build` for the build.
    """

    finding: ExpectedFinding
    agreement: Agreement
    shown_by: tuple[str, ...] = ()

    @property
    def right(self) -> bool:
        """Whether it is as it should be."""
        wrong = (Agreement.MISSING, Agreement.PRESENT)
        ungraded = self.agreement is Agreement.UNGRADED and self.finding.kind is not Necessity.MAY
        return self.agreement not in wrong and not ungraded


def verify(findings: Iterable[ExpectedFinding], records: Mapping[str, Record]) -> list[VerifiedFinding]:
    """Every finding with how the records stand to it, in their order.

    Args:
        findings: found by hand.
        records: by `MODEL/CHALLENGE`.
    """
    return [_verified(finding, records.get(finding.name)) for finding in findings]


def unlisted(findings: Iterable[ExpectedFinding], records: Mapping[str, Record]) -> Iterator[tuple[str, str]]:
    """Submission and criterion of what the records say is wrong and no finding that must or may be there covers."""
    known = [finding for finding in findings if finding.kind is not Necessity.NEVER]
    for name, record in sorted(records.items()):
        for repaired in (False, True):
            about = (f for f in known if f.name == name and f.repaired is repaired)
            covered = {id for finding in about for id in _showing(finding, record)}
            repeated = record.build.criteria if record.build and not repaired else ()
            for item in _evidence(record, repaired=repaired):
                if item.faulty and item.criterion not in covered and item.criterion not in repeated:
                    yield f"{name}, repaired," if repaired else name, item.criterion


def expected_findings(workspace: Workspace, collection: Collection) -> tuple[ExpectedFinding, ...]:
    """The findings beside a collection's manifest.

    Raises:
        SpecError: there are none, the file is malformed, or one is of no answer or no criterion that there is.
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


def _verified(finding: ExpectedFinding, record: Record | None) -> VerifiedFinding:
    if record is None:
        return VerifiedFinding(finding, Agreement.UNGRADED)
    shown_by = tuple(_showing(finding, record))
    return VerifiedFinding(finding, (_SHOWN if shown_by else _NOT_SHOWN)[finding.kind], shown_by)


def _showing(finding: ExpectedFinding, record: Record) -> Iterator[str]:
    """The criteria of the record that show the finding."""
    if finding.build:
        built = record.build
        caused = finding.cause in (None, record.repaired.cause if record.repaired else None)
        if built and built.stage == finding.build and caused and _placed(finding, built.locations):
            yield "build"
        return
    for item in _evidence(record, repaired=finding.repaired):
        if (not finding.criteria or item.criterion in finding.criteria) and _shows(finding, item):
            yield item.criterion


def _evidence(record: Record, *, repaired: bool) -> Sequence[Evidence]:
    """What the probes saw of the answer, or of its repaired copy."""
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
        and _placed(finding, item.locations)
        and _measured(finding, item)
    )


def _placed(finding: ExpectedFinding, locations: Iterable[Location]) -> bool:
    places = {words for place in locations for words in (place.file, f"{place.file}:{place.line}")}
    return not finding.locations or not places.isdisjoint(finding.locations)


def _measured(finding: ExpectedFinding, item: Evidence) -> bool:
    figures = (item.counterexample.measured if item.counterexample else {}) | item.measured
    values = {name: figures.get(name) for name in finding.measured}
    return all(
        isinstance(value, int | float) and finding.measured[name].least <= value <= finding.measured[name].most
        for name, value in values.items()
    )
