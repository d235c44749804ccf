"""Pictures of the live pages: classes look as in micrograd's plots and movies, and letters do not lie on each other."""

import json
import re
import shutil
import subprocess
import sys
from itertools import combinations
from math import dist
from pathlib import Path

import pytest

SITE = Path(__file__).parent.parent.parent / "site"
sys.path.insert(0, str(SITE))

import front  # noqa: E402

from micrograd.viz.training.plots import class_look  # noqa: E402

pytestmark = pytest.mark.skipif(not shutil.which("node"), reason="no Node: apt install nodejs")

# A page of which a picture needs no more: its colours, and a canvas that keeps the colour of all that it fills.
PAGE = """
const colours = COLOURS, body = {}, filled = [];
const fill = () => filled.push(drawing.fillStyle);
const drawing = new Proxy({}, {get: (its, name) => name === "fill" ? fill : its[name] ?? (() => {})});
Object.assign(globalThis, {
  document: {body}, matchMedia: () => ({matches: false, addEventListener() {}}), devicePixelRatio: 1,
  getComputedStyle: () => ({colorScheme: "light", getPropertyValue: name => colours[name] ?? ""}),
  Path2D: class { addPath() {} arc() {} }, DOMMatrix: class {}, Element: class {},
});
Object.defineProperty(globalThis, "navigator", {value: {}});
const {Plane} = await import("./pictures.js");
const canvas = {clientWidth: 100, getContext: () => drawing, setAttribute() {}};
"""


@pytest.fixture
def in_page(tmp_path):
    """A function that runs a script beside the live pages' own, and returns what it prints, read as JSON."""
    for path in SITE.glob("live/*.js"):
        shutil.copy2(path, tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    vendor = tmp_path / "vendor"
    vendor.mkdir()
    front.shared(vendor)
    light = (SITE / "live" / "colours.css").read_text(encoding="utf-8").partition("}")[0]
    colours = json.dumps(dict(re.findall(r"(--[\w-]+): ([^;]+);", light)))

    def run(script):
        (tmp_path / "test.js").write_text(PAGE.replace("COLOURS", colours) + script, encoding="utf-8")
        done = subprocess.run(["node", tmp_path / "test.js"], capture_output=True, encoding="utf-8", timeout=60)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_points_of_a_class_have_the_colour_that_they_have_in_a_plot(count, in_page):
    script = f"""
        const points = Array.from({{length: {count}}}, (_, k) => [[k / 5, 0], k]);
        new Plane(canvas).preview(points, null, {count});
        console.log(JSON.stringify(filled));
    """
    assert in_page(script) == [class_look(k, count)[0] for k in range(count)]


def test_sides_have_the_colours_that_they_have_in_a_plot(in_page):
    script = """
        const plane = new Plane(canvas);
        plane.begin({points: [[[0, 0], -1], [[1, 0], 1]], surface: null, parameters: 0}, "sign");
        plane.draw();
        console.log(JSON.stringify(filled));
    """
    assert in_page(script) == [class_look(k, 1)[0] for k in range(2)]


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_sign_of_a_class_in_a_text_is_its_marker_in_a_plot(count, in_page):
    script = f"console.log(JSON.stringify((await import('./looks.js')).looks({count})))"
    signs = {"o": "●", "^": "▲", "s": "■", "D": "◆", "v": "▼", "P": "✚", "X": "✖"}
    found = [(look["light"], look["sign"]) for look in in_page(script)]
    for k in range(max(count, 2)):
        colour, marker = class_look(k, count)
        assert found[k] == (colour, signs[marker])


def test_letters_stand_beside_each_other_within_the_picture_and_near_their_places(in_page):
    script = """
        const {pixels, spots} = await import("./pictures.js"), map = {clientWidth: 400, clientHeight: 300};
        const close = Array.from({length: 30}, (_, k) => [Math.sin(k * k), k < 6 ? 1 : Math.cos(3 * k) ** 3]);
        const places = [...close, close[3], close[20]], at = pixels(map, places);
        console.log(JSON.stringify([places.map(place => at(place)), spots(map, places)]));
    """
    wanted, found = in_page(script)
    assert any(dist(a, b) < 5 for a, b in combinations(wanted, 2))
    assert min(dist(a, b) for a, b in combinations(found, 2)) > 15
    assert max(dist(a, b) for a, b in zip(wanted, found, strict=True)) < 45
    assert all(8 <= x <= 392 and 8 <= y <= 292 for x, y in found)


def test_lines_of_the_graph_of_a_point_cover_each_other_the_widest_on_top_and_mix_no_colours(in_page):
    script = """
        const {Graph} = await import("./pictures.js");
        const place = {clientWidth: 400, parentElement: {}, style: {}, setAttribute() {}};
        const graph = new Graph(place);
        graph.begin({wires: [[[0, 1], [2, 3]], [[4, 5]]]});
        const one = {said: [[.5, -1], [2]], sent: [[1, -1], [1]], loss: 3, slopes: [2, -.1, .02, -1, .5, 0]};
        graph.draw(one, [[1, 2]]);
        console.log(JSON.stringify(place.innerHTML));
    """
    drawn = in_page(script)
    widths = [float(width) for width in re.findall(r'stroke-width="([\d.]+)"', drawn)]
    assert len(widths) == 7
    assert widths == sorted(widths)
    assert "opacity" not in drawn
