"""Folding: never more boxes than allowed, every node in exactly one, and the boxes one would have drawn by hand."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micrograd.engine import Value
from micrograd.nn import MLP, Module, Neuron
from micrograd.viz.drawing.data import Group, Walk, describe, walk
from micrograd.viz.drawing.fold import fold


def net_of_six():
    """Two inputs, two layers of three neurons each."""
    return MLP(2, [3, 3], activation="tanh")


def cell(inputs=1):
    return Neuron(inputs, activation="tanh")


class Recurrent(Module):
    """A model that calls one of its parts thirty times, and the other once."""

    def __init__(self):
        self.cell, self.head = cell(), cell()

    def __call__(self, state):
        for _ in range(30):
            state = self.cell([state])
        return self.head([state])


def loss_of(net, samples):
    outs = [out for _ in range(samples) for out in net([Value(random.random()), Value(random.random())])]
    return sum((out - 1.0) ** 2 for out in outs) / samples


def folded(root, limit):
    """A graph's groups: no more than the limit, and every node in one of them."""
    nodes = walk(root)
    groups, how = fold(nodes, limit)
    assert sorted(i for group in groups for i in group.members) == list(range(len(nodes.nodes)))
    assert len(groups) <= limit
    return nodes, groups, how


def named(root, limit, kind="module"):
    """The groups of one kind, by name or by op, and how often each was run."""
    found = [group for group in folded(root, limit)[1] if group.kind == kind]
    return sorted((group.name or group.op, group.times) for group in found)


def is_acyclic(nodes: Walk, groups: list[Group]) -> bool:
    home = {i: g for g, group in enumerate(groups) for i in group.members}
    below = {g: set() for g in range(len(groups))}
    for i, operands in enumerate(nodes.operands):
        below[home[i]] |= {home[j] for j in operands} - {home[i]}
    while ready := [g for g in below if below[g].isdisjoint(below)]:
        for g in ready:
            del below[g]
    return not below


def a_graph(choices: list[tuple[int, int, int]]) -> Value:
    """Any graph at all: each choice makes one node from two earlier ones."""
    nodes = [Value(1.0), Value(2.0, label="b")]
    for op, i, j in choices:
        a, b = nodes[-1 - i % len(nodes)], nodes[-1 - j % len(nodes)]
        nodes.append([a + b, a * b, a.tanh(), a + 1.0][op])
    return nodes[-1]


some_graphs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 50)), max_size=60).map(a_graph)


@given(some_graphs, st.integers(1, 40))
def test_limit_holds_and_no_node_is_lost_whatever_the_graph(root, limit):
    nodes, groups, _ = folded(root, limit)
    assert is_acyclic(nodes, groups)


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 8, 13, 21, 34, 55])
def test_limit_holds_with_modules_too_and_the_same_graph_folds_the_same_way(limit):
    net, found = net_of_six(), []
    for _ in range(2):
        random.seed(0)
        found.append(folded(loss_of(net, samples=7), limit)[1])
    assert found[0] == found[1]


def test_graph_within_the_limit_is_left_alone():
    root = loss_of(net_of_six(), samples=2)
    count = len(walk(root).nodes)
    groups, how = fold(walk(root), count)
    assert (len(groups), how) == (count, "")
    assert fold(walk(root), None)[0] == groups


@pytest.mark.parametrize(
    ("limit", "modules"),
    [
        (40, [f"{kind} #{k}" for kind in ("LinearNeuron(3)", "TanhNeuron(2)") for k in (1, 2, 3)]),
        (12, ["Layer #1", "Layer #2"]),
        (9, ["MLP"]),
    ],
)
def test_deepest_modules_that_fit_are_drawn_each_as_one_box_for_fifty_samples(limit, modules):
    root = loss_of(net_of_six(), samples=50)
    assert named(root, limit) == [(name, 50) for name in modules]
    assert folded(root, limit)[2].startswith("by module")


@pytest.mark.parametrize(
    "points",
    [
        [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)],
        [(0.0, 0.0)] * 4,
        [(0.5, 0.25)] * 2 + [(0.25, 0.5)] * 2,
    ],
    ids=["XOR", "one point four times", "one point, and turned"],
)
@pytest.mark.parametrize("kind", [tuple, list, lambda point: [*map(Value, point)]], ids=["tuples", "lists", "Values"])
def test_every_call_of_a_module_counts_whatever_it_was_called_on(points, kind):
    net = net_of_six()
    root = sum(out**2 for point in points for out in net(kind(point)))
    for limit in (4, 8, 12):
        assert {times for _, times in named(root, limit)} == {4}


def test_results_of_one_call_are_one_call():
    class Two(Module):
        def __init__(self):
            self.cell = cell()

        def __call__(self, x):
            return self.cell([x]) + 1, x * 2

    two, x = Two(), Value(2.0)
    root = sum(a * b for a, b in (two(x) for _ in range(3)))
    assert ("Two", 3) in [(name.split()[0].split("(")[0].split("\n")[0], times) for name, times in named(root, 8)]


def test_weights_belong_to_their_module_even_if_a_penalty_uses_them_and_inputs_do_not():
    net, x = net_of_six(), [Value(1.0, label="x1"), Value(2.0, label="x2")]
    nodes, groups, _ = folded(net(x)[0], 4)
    assert [group.kind for group in groups].count("module") == 2
    assert {nodes.nodes[group.members[0]].label for group in groups if group.kind == "node"} == {"x1", "x2"}
    weights = net.parameters()
    root = loss_of(net, samples=9) + sum(w * w for w in weights)
    nodes, groups, _ = folded(root, 30)
    inside = {id(nodes.nodes[i]) for group in groups if group.kind == "module" for i in group.members}
    assert inside >= set(map(id, weights))
    assert ("*", len(weights)) in named(root, 30, "repeat")


def test_chain_of_plus_is_one_sum():
    terms = [Value(float(i)) ** 2 for i in range(10)]
    nodes, groups, how = folded(sum(terms), 25)
    (total,) = [group for group in groups if group.op == "sum"]
    assert {nodes.nodes[i]._op for i in total.members} == {"+"}
    assert len(total.members) == 10
    assert how == "by structure"


def test_partial_sum_that_has_a_name_or_another_use_or_is_a_root_is_not_swallowed():
    a, b, c, d = (Value(float(i)) for i in range(4))
    named = a + b
    named.label = "named"
    used = named + c
    wanted = c + d
    roots = [(used + d) * used, wanted + a, wanted, *[Value(0.0).tanh() for _ in range(20)]]
    nodes, groups, _ = folded(roots, 30)
    assert [group.members for group in groups if group.op == "sum"] == []
    assert sum(nodes.nodes[group.members[0]]._op == "+" for group in groups) == 5


def test_samples_that_went_the_same_way_are_one_box_and_those_that_went_another_way_another():
    w = Value(2.0, label="w")
    root = sum((Value(float(i)) * w).tanh() for i in range(100))
    assert named(root, 10, "repeat") == [("", 100), ("*", 100), ("sum", 1), ("tanh", 100)]
    root = sum(Value(i / 100).tanh() if i % 2 else Value(i / 100).exp() for i in range(100))
    assert {("tanh", 50), ("exp", 50)} <= {*named(root, 10, "repeat")}
    cells = cell(), cell()
    root = sum(one([Value(i / 100)]).exp() for i in range(50) for one in cells)
    assert named(root, 10, "repeat").count(("exp", 50)) == 2, "of the results of two modules"


@pytest.mark.parametrize(("terms", "limit", "sums"), [(2, 8, 0), (2, 7, 1), (4, 12, 1)])
def test_short_sum_beside_a_module_is_folded_where_there_is_no_room_and_a_long_one_always(terms, limit, sums):
    """The module is one box; its three inputs, the terms and their additions are the others."""
    out = cell(3)([Value(1.0) for _ in range(3)])
    for _ in range(terms):
        out = out + Value(1.0)
    assert named(out, limit, "repeat").count(("sum", 1)) == sums


def test_names_tell_nodes_apart_while_there_is_room():
    leaves = [Value(float(i), label=f"x{i % 2}") for i in range(40)]
    root = sum(a * b for a, b in zip(leaves[::2], leaves[1::2], strict=True))
    nodes, groups, _ = folded(root, 10)
    drawn = describe(nodes, groups)
    assert {(box.name, box.times) for box in drawn.boxes if box.name} == {("x0", 20), ("x1", 20)}
    _, groups, _ = folded(root, 4)
    assert all(group.kind != "stretch" for group in groups)


def test_graph_that_nothing_else_folds_is_cut_into_stretches_of_depth():
    x = Value(1.0)
    for i in range(300):
        x = x * 1.5 if i % 3 else x.tanh()
    nodes, groups, how = folded(x, 20)
    assert is_acyclic(nodes, groups)
    assert how == "by structure and by depth"
    assert {group.kind for group in groups} == {"stretch"}
    box = describe(nodes, groups).boxes[3]
    assert box.name == f"{box.nodes} nodes"
    assert [text.split()[1] for _, text in box.rows] == ["*", "constants", "tanh"]


def test_edges_between_folded_boxes_are_counted():
    nodes, groups, _ = folded(loss_of(net_of_six(), samples=50), 12)
    drawn = describe(nodes, groups)
    names = [box.name for box in drawn.boxes]
    counts = {(names[edge.tail], names[edge.head]): edge.count for edge in drawn.edges}
    assert counts["Layer #1", "Layer #2"] == 50 * 3 * 3


def test_recurrent_module_is_one_box_and_its_own_results_are_no_cycle():
    neuron, state, x = cell(2), Value(0.0), Value(1.0)
    for _ in range(30):
        state = neuron([state, x])
    nodes, groups, _ = folded(state, 10)
    assert named(state, 10) == [("TanhNeuron(2)", 30)]
    assert all(edge.tail != edge.head for edge in describe(nodes, groups).edges)


def test_model_that_calls_one_part_often_was_called_as_often_as_its_rarest_part():
    assert named(Recurrent()(Value(0.0)), 2) == [("Recurrent", 1)]


def test_two_modules_that_feed_each_other_fold_all_the_same():
    one, two, state = cell(), cell(), Value(0.0)
    for _ in range(30):
        state = two([one([state])])
    folded(state, 4)


def test_node_at_another_depth_is_another_box():
    neuron, state = cell(), Value(0.0)
    for _ in range(8):
        out = neuron([state])
        state = out.exp() * (out + out + out)
    state = sum((state * float(i)).tanh() for i in range(20))  # to be folded, so that the loop is looked at too
    _, groups, _ = folded(state, 40)
    assert [len(group.members) for group in groups if group.op == "sum"] == [2] * 8 + [20]
    nodes = walk(state)
    exps = [i for i, node in enumerate(nodes.nodes) if node._op == "exp"]
    assert {group.members[0] for group in groups if group.kind == "node"} >= set(exps)
