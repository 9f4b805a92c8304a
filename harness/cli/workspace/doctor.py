"""`harness doctor`: how well this machine can grade, with advice."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli import output
from harness.errors import BoxError, PrerequisiteError

if TYPE_CHECKING:
    from harness.languages import Language
    from harness.model import Tier, UnusedTier


@dataclass(frozen=True)
class Isolation:
    """Isolation of submissions on this machine.

    Attributes:
        tier: tier that would be used, or None.
        lacking: stronger tiers that do not work, with the reasons.
        better: stronger tier that works, if HARNESS_TIER asks for a weaker one, or "".
        tried: number of attacks on the sandbox.
        open: successful attacks, a sentence each.
        fault: why grading is impossible, or "".
    """

    tier: "Tier | None"
    lacking: Sequence["UnusedTier"]
    better: str = ""
    tried: int = 0
    open: tuple[str, ...] = ()
    fault: str = ""


@dataclass(frozen=True)
class Equipment:
    """Hardware and compilers for submissions; `advice` names missing tools, and how to install them."""

    gpu: str = ""
    compilers: Mapping[str, str] = field(default_factory=dict)
    advice: tuple[str, ...] = ()

    @property
    def emulates(self) -> bool:
        """True if the emulated device can be built."""
        return self.compilers.get("host compiler", "missing") != "missing"


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False) -> None:
    """Show how well this machine can grade, and how to improve it.

    Attacks the sandbox to test how it isolates answers, and lists devices, compilers, versions and sources of timing
    noise. Exits with 3 if this machine cannot grade.
    """
    from concurrent.futures import ThreadPoolExecutor

    from harness.timing import noise

    sources = noise.conditions()  # first, since the rest makes noise itself
    # import before starting a second thread: concurrent imports can deadlock
    from harness.languages import every_language

    languages = every_language()
    with ThreadPoolExecutor(1) as beside:
        looked = beside.submit(_find_equipment, languages)
        isolation = _test_isolation()
        equipment = looked.result()
    versions = _list_versions(isolation)
    advice = [*remedies(isolation), *equipment.advice, *sources.sentences()]
    if as_json:
        output.data(_to_json(isolation, equipment, versions, advice) | {"noise": asdict(sources)})
    else:
        _print(isolation, equipment, versions, advice)
    if isolation.fault:
        raise typer.Exit(3)


def _test_isolation() -> Isolation:
    from harness.sandbox import Tier, detect, self_test
    from harness.sandbox.session.tiers import unusable

    tier: Tier | None = None
    fault = ""
    try:
        tier = detect()
    except PrerequisiteError as error:
        fault = str(error).partition("\n")[0].rstrip(":")
    fenced = [t for t in Tier if t.trusted and (tier is None or list(Tier).index(t) < list(Tier).index(tier))]
    lacking = [failure for t in fenced if (failure := unusable(t))]
    better = next((t.value for t in fenced if t not in [failure.tier for failure in lacking]), "")
    if tier is None:
        return Isolation(None, lacking, better, fault=fault)
    try:
        found = self_test.breaches(tier)
    except BoxError as error:
        return Isolation(tier, lacking, better, fault=str(error))
    fault = f"tier {tier} does not hold" if found and tier.trusted else ""
    return Isolation(tier, lacking, better, len(self_test.ATTACKS), found, fault)


def _find_equipment(languages: "Sequence[Language]") -> Equipment:
    from harness.cuda.gpu.device import gpu_device, out_of_reach
    from harness.sandbox import detect

    found = gpu_device()
    gpu = f"{found.name}, {found.memory_bytes >> 30} GiB, driver {found.driver or 'unknown'}" if found else ""
    why = out_of_reach(found, detect()) if found else ""
    gpu += f"; does not work in the sandbox, so answers run on the emulated device: {why}" if why else ""
    try:
        compilers = {name: version for used in languages for name, version in used.toolchain()}
        return Equipment(gpu, compilers, tuple(tool.consequence for used in languages for tool in used.missing_tools()))
    except (PrerequisiteError, ValueError) as error:  # HARNESS_CXX names a bad compiler
        named = os.environ.get("HARNESS_CXX", "")
        problem = str(error) if isinstance(error, PrerequisiteError) else f"HARNESS_CXX={named}: {error}; unset it"
        return Equipment(gpu, {"compilers": "none until HARNESS_CXX is put right"}, (problem,))


_WITHOUT_GPU = {
    True: "answers in CUDA run on the emulated device and are not timed",
    False: "answers in CUDA cannot be run, as there is no C++ compiler for the emulated device",
}


def remedies(isolation: Isolation, settings: Path = Path("/proc/sys")) -> Iterator[str]:
    """Yield ways to a stronger tier, or to one that holds."""
    from harness.model import Tier
    from harness.sandbox.confinement.implementations import new_sandbox

    if isolation.open and isolation.fault:
        yield "the sandbox has holes: please report them with this page, and grade only answers you trust"
    if isolation.tier is None and not isolation.better:
        yield "to grade answers that you trust anyway: harness grade --unsafe, which marks their records"
    if isolation.better:
        yield f"tier {isolation.better} works here: unset HARNESS_TIER, or set it to {isolation.better}"
    lacking = {failure.tier: failure for failure in isolation.lacking}
    for tier in reversed(Tier):
        yield from new_sandbox(tier).remedies(lacking.get(tier), settings)


def _list_versions(isolation: Isolation) -> dict[str, str]:
    from harness.model import Tier, TierChoice
    from harness.store.content_key import environment

    here = environment(TierChoice(tier=isolation.tier or Tier.UNSAFE))
    return {
        "processor": here.cpu,
        "cores": str(len(os.sched_getaffinity(0))),
        "platform": here.platform,
        "harness": here.harness,
        "python": here.python,
        "packages": ", ".join(f"{name} {version}" for name, version in here.packages.items()),
    }


def _print(isolation: Isolation, equipment: Equipment, versions: Mapping[str, str], advice: list[str]) -> None:
    tier = isolation.tier
    output.line(_summarise(isolation))
    output.line()
    held = {} if tier is None else {"tier": f"{tier}: {tier.promise}", "not held": "\n".join(tier.weaknesses)}
    output.pairs(
        {
            **held,
            "self-attack": _describe_attacks(isolation),
            **{f"not tier {failure.tier}": failure.reason for failure in isolation.lacking},
            "gpu": equipment.gpu or f"none: {_WITHOUT_GPU[equipment.emulates]}",
            **equipment.compilers,
            **versions,
        }
    )
    output.line()
    output.line("Suggestions:" if advice else "Nothing to improve.")
    output.pairs({f"{number}.": text for number, text in enumerate(advice, 1)})


def _summarise(isolation: Isolation) -> str:
    if isolation.fault:
        return f"Cannot grade on this machine: {isolation.fault}"
    if isolation.tier and isolation.tier.trusted:
        return f"This machine can grade: tier {isolation.tier} isolates answers."
    return "Grades made here are marked untrusted: answers are not isolated."


def _describe_attacks(isolation: Isolation) -> str:
    if not isolation.tried:
        return ""
    if not isolation.open:
        return f"{isolation.tried} escapes from the sandbox tried, none worked"
    return "\n".join(
        (f"{isolation.tried} escapes from the sandbox tried, {len(isolation.open)} worked:", *isolation.open)
    )


def _to_json(
    isolation: Isolation, equipment: Equipment, versions: Mapping[str, str], advice: list[str]
) -> dict[str, Any]:
    tier = isolation.tier
    return {
        "can_grade": not isolation.fault,
        "fault": isolation.fault,
        "tier": tier.value if tier else None,
        "promise": tier.promise if tier else "",
        "weaknesses": list(tier.weaknesses) if tier else [],
        "lacking": {failure.tier.value: failure.reason for failure in isolation.lacking},
        "attacks_tried": isolation.tried,
        "attacks_open": list(isolation.open),
        "gpu": equipment.gpu,
        **equipment.compilers,
        **versions,
        "advice": advice,
    }


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""
