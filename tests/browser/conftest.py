"""`page`: a page in headless Chromium, held to silence: nothing on the console, no request beyond the page itself."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

    from .chromium import Page

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> "Iterator[Chrome]":
    """One for all tests, started by the first that needs it."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if found is None or driver is None:
        pytest.skip("no Chromium" if found is None else "no chromedriver")
    pytest.importorskip("selenium")
    from .chromium import start  # selenium takes a while to import, and only these tests need it

    chrome = start(found, driver)
    yield chrome
    chrome.quit()


@pytest.fixture
def page(browser: "Chrome", tmp_path: Path) -> "Iterator[Page]":
    """A page to open. What it said on the console and asked of others, and the test did not read, fails the test."""
    from .chromium import Page

    page = Page(browser, tmp_path)
    yield page
    said, asked = page.console(), page.requests()
    page.close()
    assert said == [], "the page wrote to the console"
    assert asked == [], "the page asked for something outside of itself"
