"""The layered layout: geometry that can be checked without looking."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micrograd.viz.drawing.layout import Layout, layout

SIZES = [(90.0, 40.0), (40.0, 26.0), (150.0, 70.0)]


def overlaps(drawn: Layout) -> list[tuple[int, int]]:
    """Pairs of boxes that share area, found with a sweep from left to right."""
    order = sorted(range(len(drawn.boxes)), key=lambda i: drawn.boxes[i][0])
    found, near = [], []
    for i in order:
        x, y, _, h = drawn.boxes[i]
        near = [j for j in near if drawn.boxes[j][0] + drawn.boxes[j][2] > x]
        found += [(j, i) for j in near if drawn.boxes[j][1] < y + h and y < drawn.boxes[j][1] + drawn.boxes[j][3]]
        near.append(i)
    return found


def hits(drawn: Layout, edges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """(edge, box) where an edge of a left-to-right drawing may run through a box that is not one of its ends.

    Between two points an edge stays within their rectangle.
    """
    found = []
    for e, route in enumerate(drawn.routes):
        for (x0, y0), (x1, y1) in pairwise(route):
            left, right, top, bottom = min(x0, x1), max(x0, x1), min(y0, y1), max(y0, y1)
            for i, (x, y, w, h) in enumerate(drawn.boxes):
                if i not in edges[e] and x < right and left < x + w and y < bottom + 1e-6 and top - 1e-6 < y + h:
                    found.append((e, i))
    return found


def net(uses: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Edges from smaller to larger numbers: no cycle."""
    return [(min(a, b), max(a, b)) for a, b in uses if a != b]


graphs = st.integers(1, 25).flatmap(
    lambda count: st.tuples(
        st.lists(st.sampled_from(SIZES), min_size=count, max_size=count),
        st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=50),
    )
)


@given(graphs)
def test_layout_of_any_graph(graph):
    """No boxes overlap, no edge runs through a box, all lies on the sheet, twice alike; cycles and loops included."""
    sizes, edges = graph
    drawn = layout(sizes, edges)
    assert overlaps(drawn) == []
    assert hits(drawn, edges) == []
    for x, y, w, h in drawn.boxes:
        assert -0.02 <= x <= x + w <= drawn.width + 0.02
        assert -0.02 <= y <= y + h <= drawn.height + 0.02
    assert layout(sizes, edges) == drawn


@given(graphs)
def test_every_edge_leaves_its_tail_and_enters_its_head_from_the_facing_sides(graph):
    sizes, edges = graph
    drawn = layout(sizes, edges)
    for e, (tail, head) in enumerate(edges):
        first, last = (head, tail) if e in drawn.backward else (tail, head)
        route = drawn.routes[e][::-1] if e in drawn.backward else drawn.routes[e]
        x, y, w, h = drawn.boxes[first]
        assert route[0] == pytest.approx((x + w, y + h / 2), abs=0.02)
        if tail != head:
            x, y, w, h = drawn.boxes[last]
            assert route[-1][0] == pytest.approx(x)
            assert y <= route[-1][1] <= y + h


def test_edges_point_to_the_right_unless_they_close_a_cycle():
    edges = [(0, 1), (1, 2), (2, 0), (2, 3)]
    drawn = layout([(50, 30)] * 4, edges)
    assert drawn.backward == {2}
    assert drawn.boxes[0][0] < drawn.boxes[1][0] < drawn.boxes[2][0] < drawn.boxes[3][0]


def test_chain_stays_straight_when_every_link_takes_a_leaf():
    chain = list(range(20))
    leaves = [(20 + i, i + 1) for i in range(19)]
    drawn = layout([(60, 30)] * 39, [*pairwise(chain), *leaves])
    assert len({drawn.boxes[i][1] for i in chain[1:]}) == 1  # the first is a leaf itself


def test_chain_stays_straight_past_a_leaf_that_all_of_it_uses():
    drawn = layout([(60, 30)] * 31, [*pairwise(range(30)), *[(30, i) for i in range(1, 30)]])
    assert len({drawn.boxes[i][1] for i in range(1, 30)}) == 1


def test_leaf_stands_right_before_its_first_use():
    drawn = layout([(60, 30)] * 5, [(0, 1), (1, 2), (2, 3), (4, 3)])
    assert drawn.boxes[4][0] == drawn.boxes[2][0]


def test_tree_keeps_its_operands_in_order():
    drawn = layout([(60, 30)] * 7, [(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (5, 6)])
    assert sorted(range(4), key=lambda i: drawn.boxes[i][1]) == [0, 1, 2, 3]


def test_parent_stands_in_the_middle_of_two_equal_operands():
    drawn = layout([(60, 30)] * 3, [(0, 2), (1, 2)])
    assert drawn.boxes[2][1] == (drawn.boxes[0][1] + drawn.boxes[1][1]) / 2


def test_crossings_that_need_not_be_are_taken_out():
    drawn = layout([(60, 30)] * 5, [(0, 2), (0, 4), (1, 2), (1, 3)])  # in the order of the numbers they cross
    rows = [sorted(row, key=lambda i: drawn.boxes[i][1]) for row in ([0, 1], [2, 3, 4])]
    assert rows in ([[1, 0], [3, 2, 4]], [[0, 1], [4, 2, 3]])


def test_parallel_edges_enter_at_different_places():
    first, second = layout([(60, 30)] * 2, [(0, 1), (0, 1)]).routes
    assert first[0] == second[0]
    assert first[-1] != second[-1]


def test_loop_is_one_point_on_its_box_and_nothing_gives_an_empty_sheet():
    assert layout([(60, 30)], [(0, 0)]).routes == [[(60.0, 15.0)]]
    assert layout([], []) == Layout(0.0, 0.0, [], [])


@pytest.mark.parametrize("reach", [5, 2000])
def test_two_thousand_boxes_do_not_overlap(reach):
    edges = net([(i, i - 1 - i * 7919 % min(i, reach)) for i in range(1, 2000)])
    edges += [(i - 1 - i * 104729 % min(i, reach), i) for i in range(1, 2000)]
    assert overlaps(layout([SIZES[i % 3] for i in range(2000)], edges)) == []


def test_straight_chain_is_straight_and_its_depth_is_no_matter():
    drawn = layout([(60, 30)] * 10_000, list(pairwise(range(10_000))))
    assert {y for _, y, _, _ in drawn.boxes} == {0.0}
    assert all(len(route) == 2 for route in drawn.routes)
