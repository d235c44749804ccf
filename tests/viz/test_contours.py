"""The lines of a level through a grid, and PNG files: what a movie's boundary is drawn from."""

import io
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from PIL import Image

from micrograd.viz.training.contours import contours, simplified
from micrograd.viz.training.palette_png import png

GRIDS = arrays(float, array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=7), elements=st.integers(-3, 3))


def circle(n=41, radius=12.0):
    x = np.arange(n) - n // 2
    return np.hypot(*np.meshgrid(x, x)) - radius


def test_circle_is_one_closed_line_at_its_radius():
    (line,) = contours(circle(), 0.0)
    assert line[0] == line[-1]
    np.testing.assert_allclose(np.hypot(*(np.array(line) - 20).T), 12, atol=0.05)


@pytest.mark.parametrize(("grid", "pieces"), [([[3, -1], [-1, 3]], {True}), ([[1, -3], [-3, 1]], {False})])
def test_saddle_joins_the_corners_that_its_middle_sides_with(grid, pieces):
    """With a high middle, the lines cut off the two low corners."""
    lines = contours(np.array(grid, dtype=float), 0.0)
    assert len(lines) == 2
    cut_off_a_low_corner = {sum(x for x, _ in line) - sum(y for _, y in line) != 0 for line in lines}
    assert cut_off_a_low_corner == pieces


@given(GRIDS)
def test_every_edge_that_changes_sides_is_crossed_once(grid):
    level = 0.5
    above = grid > level
    changes = (above[1:] != above[:-1]).sum() + (above[:, 1:] != above[:, :-1]).sum()
    points = [point for line in contours(grid, level) for point in (line[:-1] if line[0] == line[-1] else line)]
    assert len(points) == len(set(points)) == changes


@given(GRIDS)
def test_line_ends_at_the_border_or_where_it_began(grid):
    height, width = grid.shape
    for line in contours(grid, 0.5):
        border = [x in (0, width - 1) or y in (0, height - 1) for x, y in (line[0], line[-1])]
        assert line[0] == line[-1] or all(border)


def test_nan_and_infinity_leave_the_rest_of_the_line():
    grid = np.tile([-1.0, 1.0], (4, 1))
    grid[0, 0], grid[3] = np.nan, [-np.inf, np.inf]
    (line,) = contours(grid, 0.0)
    assert line == [(0.5, 1.0), (0.5, 2.0), (0.5, 3.0)]


def test_straight_line_is_simplified_to_its_ends_and_corners_stay():
    line = [(float(x), 0.0) for x in range(9)] + [(8.0, float(y)) for y in range(1, 5)]
    assert simplified(line, 0.01) == [(0.0, 0.0), (8.0, 0.0), (8.0, 4.0)]


def test_simplified_circle_stays_within_the_tolerance():
    (line,) = contours(circle(), 0.0)
    short = simplified(line, 0.1)
    assert short[0] == short[-1]
    assert len(short) < len(line) / 2
    for (x0, y0), (x1, y1) in pairwise(short):
        assert np.hypot((x0 + x1) / 2 - 20, (y0 + y1) / 2 - 20) > 12 - 0.15


@given(arrays(np.uint8, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=st.integers(0, 4)))
def test_png_is_read_by_others_as_it_was_meant(pixels):
    palette = [(0, 114, 178, 255), (255, 255, 255, 0), (194, 78, 0, 128), (1, 2, 3, 4), (9, 9, 9, 9)]
    image = Image.open(io.BytesIO(png(pixels, palette)))
    assert image.mode == "P"
    np.testing.assert_array_equal(np.asarray(image.convert("RGBA")), np.array(palette)[pixels])
