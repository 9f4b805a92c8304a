"""Nodes of a Ray cluster on this machine, for tests and benchmarks; they need the extra `ray`."""

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import pytest

ON_RAY = [
    pytest.mark.xdist_group("ray"), pytest.mark.timeout(600),
    # Ray leaves sockets and files of processes that were killed to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]  # fmt: skip
"""Marks of a test that starts a cluster."""
STORE_BYTES = 80 << 20
"""Of each node's object store: answers are small."""
FAILS = {"health_check_failure_threshold": 3, "health_check_period_ms": 500, "health_check_timeout_ms": 1000}
"""A dead node is noticed in seconds."""


class LocalNodes:
    """Nodes of one cluster, each with processes of its own on the loopback address.

    Attributes:
        address: of the cluster.
        nodes: those that live, without the head.
    """

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # the head holds the cluster together and grades nothing, so that any other node may be killed
        head = {"num_cpus": 0, "include_dashboard": False, "_system_config": FAILS, "object_store_memory": STORE_BYTES}
        self._cluster = Cluster(initialize_head=True, head_node_args=head)
        self.address: str = self._cluster.address
        self.nodes: list[Any] = []

    def add(self, processors: int = 1, timing: int = 0, **variables: str) -> Any:
        """Start a node, with further variables of the environment."""
        resources = {"timing": timing} if timing else {}
        node = self._cluster.add_node(
            num_cpus=processors, resources=resources, env_vars=variables, object_store_memory=STORE_BYTES, wait=False
        )
        self.nodes.append(node)
        return node

    def kill(self, node: Any) -> None:
        """End all processes of a node at once."""
        self.nodes.remove(node)
        with contextlib.suppress(Exception):
            self._cluster.remove_node(node, allow_graceful=False)

    def close(self) -> None:
        """End the cluster."""
        with contextlib.suppress(Exception):
            self._cluster.shutdown()


@contextlib.contextmanager
def local_nodes(*processors: int) -> Iterator[LocalNodes]:
    """A cluster with nodes of so many processors for the length of a block."""
    nodes = LocalNodes()
    try:
        for count in processors:
            nodes.add(count)
        yield nodes
    finally:
        nodes.close()
