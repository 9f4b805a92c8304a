from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import BINARY, Tab, chromium


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    if BINARY is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    with chromium(tmp_path_factory.mktemp("profile")) as tab:
        yield tab


@pytest.fixture
def tab(browser: Tab) -> Tab:
    """A tab that has complained of nothing yet, as wide as a desk, light."""
    browser.complaints.clear()
    browser.requests.clear()
    browser.size(1280)
    browser.prefer()
    return browser


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("page")
