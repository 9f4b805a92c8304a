"""Nodes of a Ray cluster, and their slots."""

import contextlib
import importlib
import itertools
import logging
import os
import socket
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import harness
from harness.errors import PrerequisiteError
from harness.executors.ray_cluster.node_facts import NodeFacts
from harness.executors.ray_cluster.slot import GradingSlot
from harness.grading.options import Options
from harness.model import Environment
from harness.sandbox.session.tiers import PERMITTED
from harness.store.content_key import source_of_harness

TIMING = "timing"
"""Ray resource of nodes that may measure time."""
LOOK_SECONDS = 1.0
"""Seconds between two refreshes of the list of nodes."""
START_SECONDS = 120.0
"""Seconds within which a slot starts on a free processor."""
MOVE_SECONDS = 15.0
"""Seconds until a slot that is not placed yet moves to another node, if slots are limited; doubled at each move."""
CONNECT_SECONDS = 10.0
"""Timeout of a cluster's address, in seconds."""
NODE_SECONDS = 60.0
"""Seconds to wait for a node when there is none."""
STARTS = 3
"""Failed starts of slots after which a node is refused."""
_log = logging.getLogger(__name__)


@dataclass(eq=False)
class ClusterNode:
    """One node of the cluster.

    Attributes:
        processors: number offered to Ray.
        timing: number of grades that may measure time at once.
        facts: its report; None until received.
        refusal: reason not to use it, or empty.
        failed_starts: slots that failed to start since the last success.
        taken: monotonic time when others last used its processors, or 0.
    """

    id: str
    name: str
    processors: int
    timing: int
    facts: NodeFacts | None = None
    refusal: str = ""
    failed_starts: int = 0
    taken: float = 0.0

    def usable_for(self, language: str) -> bool:
        """Return whether the node can grade a language."""
        return self.facts is not None and not self.refusal and language in self.environments

    @property
    def environments(self) -> dict[str, Environment]:
        """Environments as in records, by language that it can run."""
        facts = self.facts
        if facts is None or facts.environments is None:
            return {}
        unable = facts.unable or {}
        return {k: Environment.model_validate(v) for k, v in facts.environments.items() if k not in unable}

    def missing(self, language: str) -> int:
        """Count the missing tools for a language."""
        return len(((self.facts and self.facts.missing) or {}).get(language, ()))


@dataclass(eq=False)
class NodeSlot:
    """A place on a node for one submission at a time.

    Attributes:
        actor: handle of its `GradingSlot`.
        placed: Ray reference that resolves once the slot has a processor.
        timing: true if it may measure time.
        since: monotonic time of its request.
    """

    node: ClusterNode
    actor: Any
    placed: Any
    timing: bool
    ready: bool = False
    busy: bool = False
    since: float = field(default_factory=time.monotonic)

    @property
    def late(self) -> bool:
        """True if overdue: others may use the processor."""
        return not self.ready and time.monotonic() - self.since > START_SECONDS


def ray_module() -> ModuleType:
    """Import Ray.

    Raises:
        PrerequisiteError: Ray is not installed.
    """
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise PrerequisiteError("no ray here: pip install 'kernel-harness[ray]'") from None


class Cluster:
    """Slots on every node that can grade; follows nodes that join and leave.

    Args:
        jobs: largest number of slots; one per processor by default.
        address: see `enter`, also for errors.
    """

    def __init__(self, options: Options, languages: Sequence[str], jobs: int | None, address: str | None) -> None:
        self._ray = ray_module()
        self._options, self._languages, self._jobs = options, tuple(languages), jobs
        self._nodes: dict[str, ClusterNode] = {}
        self.slots: list[NodeSlot] = []
        self.starting: dict[Any, NodeSlot] = {}
        self._looked, self._patience = 0.0, MOVE_SECONDS
        self._lonely_since = time.monotonic()
        self._connected = enter(address)
        self.look()

    @property
    def nodes(self) -> list[ClusterNode]:
        """Nodes that have reported and can grade."""
        return [node for node in self._nodes.values() if node.facts and not node.refusal]

    @property
    def undecided(self) -> bool:
        """True if a node may still report."""
        return any(slot.node.facts is None and not slot.late for slot in self.starting.values())

    @property
    def can_time(self) -> bool:
        """True if a slot measures time, or soon will."""
        return any(slot.timing and not slot.late for slot in self.slots)

    def environments(self, language: str) -> list[Environment]:
        """Return the distinct environments that grade a language."""
        found = [node.environments[language] for node in self.nodes if language in node.environments]
        return [where for number, where in enumerate(found) if where not in found[:number]]

    def best_for(self, language: str, spared: Collection[str] = ()) -> list[ClusterNode]:
        """Return the nodes that lack the fewest tools for a language, except `spared` ids."""
        usable = [node for node in self.nodes if node.usable_for(language)]
        fewest = min((node.missing(language) for node in usable), default=0)
        return [node for node in usable if node.missing(language) == fewest and node.id not in spared]

    def why_not(self, language: str) -> str:
        """Explain why no node can run a language."""
        reasons = [f"{node.name}: {(node.facts.unable or {}).get(language, '')}" for node in self.nodes if node.facts]
        return f"no node of the cluster can run answers in {language}:\n  " + "\n  ".join(reasons)

    def look(self) -> None:
        """Refresh the nodes, at most once a second, and start missing slots.

        Raises:
            PrerequisiteError: no node can grade, or the cluster is lost.
        """
        if time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        try:
            alive = {found["NodeID"]: found for found in self._ray.nodes() if found["Alive"]}
        except Exception as error:  # Ray's errors have no common class
            raise PrerequisiteError(f"the cluster is lost: {error}\n  finished grades are kept") from error
        for id in self._nodes.keys() - alive.keys():
            gone = self._nodes.pop(id)
            # nothing else reports the loss of an idle slot, while the grade of a busy one fails
            for slot in [slot for slot in self.slots if slot.node is gone and not slot.busy]:
                self.lose(slot)
        for id, found in alive.items():
            resources = found["Resources"]
            if id not in self._nodes and resources.get("CPU", 0) >= 1:
                name = f"{found['NodeManagerHostname']}/{id[:6]}"
                timing = int(resources.get(TIMING, 0))
                self._nodes[id] = ClusterNode(id, name, int(resources["CPU"]), timing)
        self._leave_taken()
        for node in sorted(self._nodes.values(), key=lambda node: node.taken):
            self._fill(node)
        self._assert_hope()

    def handle_start(self, ref: Any) -> None:
        """Handle the report, readiness or failure of a starting slot."""
        slot = self.starting.pop(ref)
        try:
            said = self._ray.get(ref)
        except self._ray.exceptions.RayError as error:
            self.lose(slot)
            slot.node.failed_starts += 1
            if slot.node.failed_starts >= STARTS:
                reason = str(error).strip().rpartition("\n")[2]
                self._refuse(slot.node, f"the harness does not start there: {reason}; install it there")
            return
        slot.node.failed_starts = 0
        if said is None:
            slot.ready = True
            return
        slot.node.facts = NodeFacts(**said)
        if reason := _explain_refusal(slot.node.facts):
            self._refuse(slot.node, reason)
            self.lose(slot)
            return
        self.starting[slot.actor.begin.remote(slot.node.facts.isolation)] = slot
        self._fill(slot.node)

    def lose(self, slot: NodeSlot) -> None:
        """Give up a slot; `look` replaces it if its node lives."""
        if slot in self.slots:
            self.slots.remove(slot)
        for ref in [ref for ref, starting in self.starting.items() if starting is slot]:
            del self.starting[ref]
        with contextlib.suppress(Exception):
            self._ray.kill(slot.actor)

    def close(self) -> None:
        """End every slot, and leave the cluster if this object entered it."""
        with contextlib.suppress(Exception):  # a dying cluster may raise anything
            idle = [slot.actor.close.remote() for slot in self.slots if slot.ready and not slot.busy]
            self._ray.wait(idle, num_returns=len(idle), timeout=5.0) if idle else None
        for slot in list(self.slots):
            self.lose(slot)
        if self._connected:
            self._ray.shutdown()

    def _leave_taken(self) -> None:
        if self._jobs is None or len(self.slots) < self._jobs or len(self._nodes) == 1:
            return
        now = time.monotonic()
        for slot in [slot for slot in self.starting.values() if now - slot.since > self._patience]:
            placed, _ = self._ray.wait([slot.placed], timeout=0)
            if not placed:
                slot.node.taken = now
                self._patience *= 2
                self.lose(slot)

    def _fill(self, node: ClusterNode) -> None:
        if node.refusal:
            return
        own = [slot for slot in self.slots if slot.node is node]
        wanted = node.processors if node.facts else 1
        for _ in range(wanted - len(own)):
            if self._jobs is not None and len(self.slots) >= self._jobs:
                return
            timing = sum(slot.timing for slot in self.slots if slot.node is node) < node.timing
            actor = self._start_actor(node, timing)
            slot = NodeSlot(node, actor, actor.here.remote(), timing)
            self.slots.append(slot)
            said = (
                slot.actor.begin.remote(node.facts.isolation)
                if node.facts
                else slot.actor.facts.remote(self._languages)
            )
            self.starting[said] = slot

    def _start_actor(self, node: ClusterNode, timing: bool) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        kept = {name: os.environ[name] for name in (PERMITTED,) if name in os.environ}
        kind = self._ray.remote(GradingSlot).options(
            num_cpus=1,
            resources={TIMING: 1} if timing else {},
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False),
        )
        return kind.remote(self._options.to_json(), kept)

    def _refuse(self, node: ClusterNode, reason: str) -> None:
        node.refusal = reason
        _log.warning("note: nothing is graded on %s: %s", node.name, reason)

    def _assert_hope(self) -> None:
        open_nodes = [node for node in self._nodes.values() if not node.refusal]
        if open_nodes:
            self._lonely_since = time.monotonic()
        elif self._nodes:
            reasons = "".join(f"\n  {node.name}: {node.refusal}" for node in self._nodes.values())
            raise PrerequisiteError(f"no node of the cluster can grade:{reasons}")
        elif time.monotonic() - self._lonely_since > NODE_SECONDS:
            raise PrerequisiteError(
                f"the cluster had no node with a processor for {NODE_SECONDS:g} s; finished grades are kept"
            )


def enter(address: str | None) -> bool:
    """Enter a cluster for the rest of this process; return False if already in one.

    Args:
        address: by default RAY_ADDRESS, this machine's cluster, or a new one.

    Raises:
        PrerequisiteError: Ray is not installed, or the address has no cluster.
    """
    ray = ray_module()
    if ray.is_initialized():
        return False
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        _assert_open(address or os.environ.get("RAY_ADDRESS"))
        # workers import from the driver's current folder first, and that may be a submission's
        with contextlib.chdir(os.sep):
            ray.init(address, log_to_driver=False, logging_level="error", include_dashboard=False)
    except (OSError, RuntimeError, ValueError) as error:
        where = f" at {address}" if address else ""
        line = str(error).strip().partition("\n")[0]
        raise PrerequisiteError(f"no Ray cluster{where}: {line}\n  try: ray start --head") from error
    return True


def _assert_open(address: str | None) -> None:
    # Ray would try a dead address for minutes
    host, _, port = (address or "").rpartition(":")
    if host and port.isdigit() and "/" not in host:
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()


def _explain_refusal(facts: NodeFacts) -> str:
    if facts.refusal:
        return facts.refusal
    mine = harness.__version__
    if facts.version != mine:
        return f"it has harness {facts.version}, this machine {mine}: install the same version on both"
    if facts.source != source_of_harness():
        return f"its harness {mine} has other source code than the one here: install the same version on both"
    return ""


def spread(slots: Sequence[NodeSlot]) -> Iterator[NodeSlot]:
    """Yield idle slots, one of each node in turn."""
    by_node: dict[str, list[NodeSlot]] = {}
    for slot in slots:
        if slot.ready and not slot.busy:
            by_node.setdefault(slot.node.id, []).append(slot)
    for turn in itertools.zip_longest(*by_node.values()):
        yield from (slot for slot in turn if slot is not None)
