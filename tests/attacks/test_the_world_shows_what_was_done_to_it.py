"""The world around an attack shows every change, connection, leftover and theft."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks import loot
from tests.attacks.nursery import REPOSITORY
from tests.attacks.world import World, world


@pytest.fixture
def place() -> Iterator[World]:
    with world(REPOSITORY, "kv_cache") as made:
        yield made


def test_a_world_left_alone_shows_no_damage(place: World) -> None:
    assert place.damage() == []


@pytest.mark.parametrize("key", ["target", "secret", "record"])
def test_a_file_that_was_written_shows(place: World, key: str) -> None:
    Path(str(place.coordinates[key])).write_text("changed")
    assert [line for line in place.damage() if line.endswith("changed")]


def test_a_mode_that_was_changed_shows(place: World) -> None:
    Path(str(place.coordinates["target"])).chmod(0o600)
    assert place.damage()


def test_a_new_file_shows(place: World) -> None:
    Path(str(place.coordinates["other"]), "more.py").write_text("")
    assert place.damage()


@pytest.mark.parametrize("where", ["/tmp", "/dev/shm"])
def test_what_was_left_for_a_later_submission_shows(place: World, where: str) -> None:
    left = Path(where, f"poison-{place.coordinates['token']}")
    left.write_text("")
    try:
        assert place.damage() == [f"left {left}"]
    finally:
        left.unlink()


@pytest.mark.parametrize("door", ["tcp", "abstract", "unix"])
def test_a_connection_shows(place: World, door: str) -> None:
    address = {
        "tcp": ("127.0.0.1", place.coordinates["tcp"]),
        "abstract": f"\0{place.coordinates['abstract']}",
        "unix": place.coordinates["unix"],
    }
    family = socket.AF_INET if door == "tcp" else socket.AF_UNIX
    with socket.socket(family, socket.SOCK_STREAM) as caller:
        caller.connect(address[door])
        assert place.damage() == [f"{door} was reached"]


def test_a_datagram_shows(place: World) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as caller:
        caller.sendto(b"x", ("127.0.0.1", int(place.coordinates["udp"])))
        assert place.damage() == ["udp was reached"]


@pytest.mark.parametrize("key", ["secret", "record"])
def test_a_secret_in_what_was_printed_shows(place: World, key: str) -> None:
    text = Path(str(place.coordinates[key])).read_text()
    assert place.stolen(f"some words {text} and more") == [f"{key} was read"]


def test_the_secret_behind_the_file_descriptor_shows(place: World) -> None:
    text = os.pread(int(place.coordinates["fd"]), 100, 0).decode()
    assert place.stolen(text) == ["fd was read"]


def test_an_attacks_own_word_shows(place: World) -> None:
    assert place.stolen(f"{loot.MARK}the moon\n") == ["got the moon"]


def test_a_world_that_is_closed_leaves_nothing() -> None:
    with world(REPOSITORY, "kv_cache") as made:
        folder = made.folder
    assert not folder.exists()
