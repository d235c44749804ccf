"""A page in real headless Chromium: open it, use it as people do, and ask what it said and whom it called."""

import json
import os
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

HOME = ("file", "data", "blob", "about")  # where a self-contained page may ask for something
DRAWN = """
const done = arguments[0], data = document.querySelector("[type='application/json']");
(function wait() {  // its script runs once its data is unpacked, and it is laid out before the next frame
  if (data && data.text[0] !== "{") setTimeout(wait);
  else if (data) requestAnimationFrame(() => requestAnimationFrame(done));
  else done();
})();
"""
FLAGS = (
    "--headless=new",
    "--no-sandbox",  # root, as in a container, has none
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # other requests are seen here, and get nowhere
)


def start(browser: str, driver: str) -> webdriver.Chrome:
    """Chromium and its driver, from these two paths."""
    os.environ["SE_OFFLINE"] = "true"  # selenium would download what it does not find
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.add_experimental_option("perfLoggingPrefs", {"enableNetwork": True, "enablePage": False})
    return webdriver.Chrome(options, webdriver.ChromeService(driver))


class Page:
    """The page that a test opens; `driver` is selenium's, for what is not here."""

    def __init__(self, driver: webdriver.Chrome, folder: Path):
        self.driver, self._folder, self._opened = driver, folder, 0

    def open(
        self,
        source: str | Path,
        width: int = 1400,
        height: int = 900,
        *,
        dark: bool = False,
        reduced_motion: bool = False,
        fragment: str = "",
    ) -> "Page":
        """Load a file, or text that is HTML or SVG, in a viewport of `width` by `height` pixels."""
        self.resize(width, height)
        self.emulate(dark=dark, reduced_motion=reduced_motion)
        path = source if isinstance(source, Path) else self._write(source)
        self.driver.get(path.resolve().as_uri() + (f"#{fragment}" if fragment else ""))
        self.driver.execute_async_script(DRAWN)
        return self

    def _write(self, source: str) -> Path:
        """A new file each time: a page that only changed its fragment would not be loaded anew."""
        self._opened += 1
        start = source.lstrip()[:5]
        path = self._folder / f"page{self._opened}.{'svg' if start in ('<?xml', '<svg ') else 'html'}"
        path.write_text(source, encoding="utf-8")
        return path

    def resize(self, width: int, height: int = 900) -> None:
        """A window cannot be narrower than 500 pixels; a viewport can."""
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def emulate(self, *, dark: bool = False, reduced_motion: bool = False) -> None:
        """What the user asked of the system; may change while the page is open."""
        features = {
            "prefers-color-scheme": "dark" if dark else "light",
            "prefers-reduced-motion": "reduce" if reduced_motion else "no-preference",
        }
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": k, "value": v} for k, v in features.items()])

    def cdp(self, command: str, **parameters: Any) -> dict[str, Any]:
        """A command of the Chrome DevTools protocol."""
        return self.driver.execute_cdp_cmd(command, parameters)

    def run(self, script: str, *arguments: Any) -> Any:
        """The script's `return`; elements and plain data travel both ways."""
        return self.driver.execute_script(script, *arguments)

    def text(self, selector: str) -> str:
        return self.run("return document.querySelector(arguments[0]).textContent.trim()", selector)

    def count(self, selector: str) -> int:
        return self.run("return document.querySelectorAll(arguments[0]).length", selector)

    def wait(self, condition: str, seconds: float = 10) -> Any:
        """Until this JavaScript expression is true; gives its value."""
        return WebDriverWait(self.driver, seconds, 0.02).until(lambda _: self.run(f"return {condition}"), condition)

    def click(self, selector: str) -> None:
        """With the mouse, in the middle of what the CSS selector finds first: fails where something lies over it."""
        self.driver.find_element(By.CSS_SELECTOR, selector).click()

    def press(self, *keys: str) -> None:
        """One after another, named as in JavaScript's `event.key`: "a", " ", "ArrowRight", "Escape", "Shift+Tab"."""
        for key in keys:
            *held, last = key.split("+") if len(key) > 1 else [key]
            chain = ActionChains(self.driver)
            for name in held:
                chain.key_down(_key(name))
            chain.send_keys(_key(last))
            for name in reversed(held):
                chain.key_up(_key(name))
            chain.perform()

    def axe(self) -> list[str]:
        """What axe-core has against the page as it is now, a line for each element."""
        if not self.run("return !!window.axe"):
            self.run(_axe_source())
        report = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run().then(done, error => done({failed: String(error)}))"
        )
        if "failed" in report:
            raise RuntimeError(f"axe-core did not finish: {report['failed']}")
        return [
            f"{rule['id']}: {node['html']}\n{node['failureSummary']}"
            for rule in report["violations"]
            for node in rule["nodes"]
        ]

    def console(self) -> list[str]:
        """What was written to the console, uncaught errors too, since this was last asked."""
        return [f"{entry['level']}: {entry['message']}" for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """The addresses outside of the page that were asked for, since this was last asked."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [
            event["params"]["url"]
            if event["method"] == "Network.webSocketCreated"
            else event["params"]["request"]["url"]
            for event in events
            if event["method"] in ("Network.requestWillBeSent", "Network.webSocketCreated")
        ]
        return [url for url in asked if urlsplit(url).scheme not in HOME]

    def close(self) -> None:
        """Leave nothing to the next test: no page, no storage, no mark of what happened."""
        self.cdp("Storage.clearDataForOrigin", origin="file://", storageTypes="all")
        self.driver.get("about:blank")
        self.console()
        self.requests()


def _key(name: str) -> str:
    """Selenium's code for a key with a name: ArrowRight is Keys.ARROW_RIGHT."""
    if len(name) == 1:
        return name
    return getattr(Keys, "".join(f"_{c}" if c.isupper() else c for c in name).lstrip("_").upper())


@cache
def _axe_source() -> str:
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
