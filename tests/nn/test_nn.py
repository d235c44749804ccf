"""Networks of Values: neurons, layers, MLPs, and what Module does for all that derive from it."""

import copy
import random
import subprocess
import sys
import threading
import weakref
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from engine_helpers import at_once

from micrograd.engine import Value
from micrograd.nn import MLP, Layer, Module, Neuron
from micrograd.nn.neurons import ACTIVATIONS


def values(*numbers):
    return [Value(x) for x in numbers]


def module(**held):
    """A module that holds these."""
    made = Module()
    vars(made).update(held)
    return made


class Line(Module):
    """As a lecture would write one: no parameters(), no __init__ of the base called."""

    def __init__(self):
        self.slope, self.offset = Value(2.0), Value(1.0)

    def __call__(self, x):
        return self.slope * x + self.offset


# ---------------------------------------------------------------------------------------------------------------------
# Neurons, layers, MLPs


def test_neuron_sums_from_the_bias_on_and_from_left_to_right():
    neuron, x = Neuron(3, nonlin=False), values(0.1, 0.2, 0.3)
    neuron.b.data = 0.7
    out = neuron(x)
    w0, w1, w2 = neuron.w
    assert out.data == ((neuron.b.data + w0.data * 0.1) + w1.data * 0.2) + w2.data * 0.3
    assert out._prev[0]._prev[0]._prev[0] is neuron.b
    assert out._prev[1]._prev == (w2, x[2])


def test_weights_are_drawn_in_order_from_the_global_generator_or_from_the_one_given():
    random.seed(5)
    drawn = [random.uniform(-1, 1) for _ in range(2 * 3 + 3 * 1)]
    random.seed(5)
    model = MLP(2, [3, 1])
    assert [w.data for layer in model.layers for n in layer.neurons for w in n.w] == drawn
    assert {n.b.data for layer in model.layers for n in layer.neurons} == {0.0}
    before = random.getstate()
    twin = MLP(2, np.array([3, 1]), rng=random.Random(5))
    assert [p.data for p in twin.parameters()] == [p.data for p in model.parameters()]
    assert random.getstate() == before
    assert Neuron(2, rng=np.random.default_rng(3)).w[0].data == Neuron(2, rng=np.random.default_rng(3)).w[0].data


def test_reprs_are_those_of_the_classic_package():
    assert repr(MLP(2, (2, 1))) == "MLP of [Layer of [ReLUNeuron(2), ReLUNeuron(2)], Layer of [LinearNeuron(2)]]"
    assert repr(Neuron(4, nonlin=False)) == "LinearNeuron(4)"
    assert repr(Neuron(4, activation="gelu")) == "GELUNeuron(4)"
    assert repr(Neuron(4, activation=Value.tanh)) == "tanhNeuron(4)"
    assert repr(Neuron(4, activation=lambda x: x)) == "lambdaNeuron(4)"


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation_by_name_is_the_method_of_that_name(name):
    neuron = Neuron(2, activation=name)
    neuron.b.data = 0.25
    linear = copy.deepcopy(neuron)
    linear.nonlin = False
    x = values(0.5, -0.5)
    assert neuron(x).data == getattr(linear(x), name)().data
    assert repr(neuron) == f"{ACTIVATIONS[name]}Neuron(2)"


def test_activation_that_is_a_module_is_trained_too():
    class Swish(Module):
        def __init__(self):
            self.beta = Value(1.0)

        def __call__(self, x):
            return x * (self.beta * x).sigmoid()

    swish = Swish()
    neuron = Neuron(2, activation=swish)
    assert neuron.parameters() == [*neuron.w, neuron.b, swish.beta]
    assert neuron([1.0, 2.0])._made_by[:-1] == (swish,)


@pytest.mark.parametrize("x", [[1.0], [1.0, 2.0, 3.0], [], np.ones(5)])
def test_wrong_number_of_inputs_names_both_lengths(x):
    for model in (Neuron(2), Layer(2, 3), MLP(2, [3, 1])):
        with pytest.raises(ValueError, match=f"a neuron with 2 weights needs 2 inputs, and found {len(x)}"):
            model(x)


@pytest.mark.parametrize("inputs", [tuple, list, iter, np.array], ids=lambda kind: kind.__name__)
def test_inputs_may_be_a_tuple_a_list_an_iterator_or_an_array(inputs):
    model = MLP(2, (3, 1))
    assert model(inputs([0.5, -1.0])).data == model(values(0.5, -1.0)).data


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Neuron(0), ValueError, "nin must be at least 1, found 0"),
        (lambda: Layer(2, -1), ValueError, "nout must be at least 1, found -1"),
        (lambda: Neuron(2.0), TypeError, "nin must be a whole number, found float 2.0"),
        (lambda: MLP(2, [3, 0]), ValueError, r"nouts\[1\] must be at least 1, found 0"),
        (lambda: MLP(2, [3, "1"]), TypeError, r"nouts\[1\] must be a whole number, found str '1'"),
        (lambda: MLP(2, []), ValueError, "nouts is empty"),
        (lambda: MLP(2, 3), TypeError, "nouts must be a list with the size of each layer.* found 3"),
        (lambda: MLP(2, [1], rng=1337), TypeError, "rng must be a generator.* found int 1337"),
        (lambda: MLP(2, [1], activation="rleu"), ValueError, r"'rleu'.* relu, leaky_relu, tanh,.* or a function"),
        (lambda: Neuron(2)(None), TypeError, "the inputs are a list of Values or numbers, found NoneType"),
        (lambda: Neuron(2).load_state_dict([1, 2]), TypeError, "a state is a dict of arrays by name, found list"),
        (lambda: module()([1.0]), TypeError, r"Module needs a method __call__\(self, x\), or forward"),
    ],
)
def test_wrong_settings_and_inputs_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


# ---------------------------------------------------------------------------------------------------------------------
# Finding parameters


def test_parameters_are_found_in_attributes_lists_tuples_dicts_and_modules_once_and_in_order():
    line = Line()
    nest = module(
        name="a nest", line=line, pair=(Value(1), [Value(2), {"deep": Value(3)}]), again=line,
        table={"x": Value(4), 5: Neuron(1)}, constant=Value(5, requires_grad=False), result=Value(6) * 2,
    )  # fmt: skip
    nest.me, line.parent, nest.table["siblings"] = [nest], nest, nest.table
    names = [name for name, _ in nest.named_parameters()]
    assert names == [
        "line.slope", "line.offset", "pair.0", "pair.1.0", "pair.1.1.deep", "table.x", "table.5.w.0", "table.5.b",
    ]  # fmt: skip
    assert nest.parameters() == [p for _, p in nest.named_parameters()]


def test_part_that_defines_parameters_is_believed_by_what_holds_it():
    class Unbiased(Neuron):
        def parameters(self):
            return self.w

    layer = Layer(2, 2)
    layer.neurons[1] = Unbiased(2)
    whole = module(layers=[layer], others={"last": layer.neurons[1]})
    assert whole.parameters() == [*layer.neurons[0].parameters(), *layer.neurons[1].w]
    assert [p for _, p in whole.named_parameters()] == whole.parameters()


def test_subclass_that_defines_parameters_is_believed():
    class Half(Module):
        def __init__(self):
            self.a, self.frozen = Value(1.0), Value(2.0)

        def parameters(self):
            return [self.a, *hidden]

    half, hidden = Half(), [Value(3.0)]
    assert half.named_parameters() == [("a", half.a), ("parameters.0", hidden[0])]
    assert {name: array.tolist() for name, array in half.state_dict().items()} == {
        "a": 1.0, "frozen": 2.0, "parameters": [3.0],
    }  # fmt: skip


def test_subclass_may_choose_among_the_parameters_of_its_base():
    class Chosen(Module):
        def __init__(self):
            self.line, self.child, self.me = Line(), module(parent=self, w=Value(1.0)), [self]

        def parameters(self):
            return [p for p in super().parameters() if p is not self.line.offset]

    chosen = Chosen()
    assert chosen.parameters() == [chosen.line.slope, chosen.child.w]
    assert chosen.named_parameters() == [("line.slope", chosen.line.slope), ("child.w", chosen.child.w)]
    assert list(chosen.state_dict()) == ["line.slope", "line.offset", "child.w"]


def test_module_may_be_a_dataclass():
    @dataclass
    class Slope(Module):
        w: Value

        def __call__(self, x):
            return self.w * x

    whole = Module()
    whole.inner = [Slope(Value(2.0)), Slope(Value(3.0))]
    assert [p.data for p in whole.parameters()] == [2.0, 3.0]
    assert list(whole.state_dict()) == ["inner.0.w", "inner.1.w"]
    assert [module.training for module in whole.eval().modules()] == [False] * 3


# ---------------------------------------------------------------------------------------------------------------------
# Saving and copying


def test_constants_are_saved_for_they_may_be_frozen_weights():
    saved, into = (module(scale=Value(scale, requires_grad=False)) for scale in (7.0, 1.0))
    into.load_state_dict(saved.state_dict())
    assert into.scale.data == 7.0


@pytest.mark.parametrize("keys", [("1", 1), ("x.w", "x")])
def test_two_parameters_that_would_have_one_name_in_the_state_are_refused_not_lost(keys):
    module = Module()
    module.held = {keys[0]: Value(1.0), keys[1]: Value(2.0) if keys[1] == 1 else {"w": Value(2.0)}}
    assert len(module.parameters()) == 2
    for use in (module.state_dict, lambda: module.load_state_dict({f"held.{keys[0]}": 1.0})):
        with pytest.raises(ValueError, match="two things in this module have the name 'held"):
            use()


# ---------------------------------------------------------------------------------------------------------------------
# The mark that a call leaves on its results


def test_result_tells_which_modules_made_it_and_of_what():
    model, x = MLP(2, [2, 1]), values(1.0, 2.0)
    out = model(x)
    last = model.layers[1]
    assert out._made_by[:-1] == (model, last, last.neurons[0])
    hidden = out._made_by[-1]
    assert [h._made_by for h in hidden] == [
        (model, model.layers[0], neuron, tuple(x)) for neuron in model.layers[0].neurons
    ]


def test_classic_subclass_leaves_marks_and_stands_around_what_it_calls():
    class Two(Module):
        def __init__(self):
            self.line, self.neuron = Line(), Neuron(2)

        def __call__(self, x):
            return {"both": [self.line(x[0]), self.neuron(x)], "sum": x[0] + x[1]}

        def parameters(self):
            return self.neuron.parameters()

    two, x = Two(), values(1.0, 2.0)
    out = two(x)
    assert out["both"][0]._made_by == (two, two.line, (x[0],))
    assert out["both"][1]._made_by == (two, two.neuron, tuple(x))
    assert out["sum"]._made_by == (two, tuple(x))


def test_super_call_counts_a_module_once():
    class Doubled(Neuron):
        def __call__(self, x):
            return super().__call__(x) * 2

    class Named(Line):
        def __call__(self, x):
            return super().__call__(x)

    for module, x in ((Doubled(1), values(1.0)), (Named(), Value(1.0))):
        assert module(x)._made_by[:-1] == (module,)
    neuron = Doubled(1)
    assert neuron(values(1.0))._prev[0]._made_by[:-1] == (neuron,)


def test_leaf_and_what_is_handed_through_bear_no_mark():
    class Same(Module):
        def __call__(self, x):
            return x

    x = Value(1.0)
    y = x * 2
    assert Same()([x, y]) == [x, y]
    Same()(y)
    assert not x._made_by
    assert not y._made_by


def test_after_an_exception_no_module_is_left_in_the_stack():
    class Failing(Module):
        def __call__(self, x):
            raise KeyError("on purpose")

    with pytest.raises(KeyError, match="on purpose"):
        Failing()(1)
    line = Line()
    assert line(1.0)._made_by[:-1] == (line,)


@pytest.mark.usefixtures("without_collector")
def test_graph_that_modules_made_dies_by_reference_count():
    model, x = MLP(2, [2, 1]), values(1.0, 2.0)
    out = model(x) + Line()(x[0])
    gone = weakref.ref(out._prev[0]), weakref.ref(out)
    out.backward()
    del out
    assert [ref() for ref in gone] == [None] * 2


def test_threads_do_not_see_each_others_modules():
    class Waiting(Module):
        def __init__(self):
            self.line = Line()

        def __call__(self, x):
            barrier.wait(timeout=30)
            return self.line(x)

    barrier, both = threading.Barrier(2), [Waiting(), Waiting()]
    outs = at_once(*(partial(waiting, 1.0) for waiting in both))
    assert [out._made_by[:-1] for out in outs] == [(waiting, waiting.line) for waiting in both]


def test_networks_losses_and_optimizers_load_no_numpy_and_saving_loads_no_safetensors():
    code = (
        "import sys, micrograd.nn, micrograd.optim, micrograd.functional as F\n"
        "model = micrograd.nn.MLP(2, [3, 1])\n"
        "optimizer = micrograd.optim.Adam(model.parameters())\n"
        "F.hinge([model([1.0, 2.0])], [1]).backward()\n"
        "F.bce_with_logits([model([1.0, 2.0])], [1]).backward(), F.cross_entropy([model([1.0, 2.0]), 2.0], 0)\n"
        "optimizer.step()\n"
        "assert {'Linear', 'MLP'} <= set(dir(micrograd.nn)) and 'numpy' not in sys.modules\n"
        "import micrograd.nn.saving\n"
        "sys.exit('numpy' not in sys.modules or 'safetensors' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


class Doubled(Module):
    """Defines `__call__` around a `forward` that subclasses may replace."""

    def __call__(self, x):
        return self.forward(x) + 1

    def forward(self, x):
        return x * 2


class Tenfold:
    def forward(self, x):
        return x * 10


@pytest.mark.parametrize(
    ("bases", "body", "expected"),
    [
        ((Module,), {"forward": lambda self, x: x * 10}, 20.0),
        ((Doubled,), {"forward": lambda self, x: x * 10}, 21.0),
        ((Doubled,), {"__call__": lambda self, x: Doubled.__call__(self, x) * 10}, 50.0),
        ((Tenfold, Doubled), {}, 21.0),
        ((Tenfold, Module), {}, 20.0),
        ((Module, Tenfold), {}, 20.0),
    ],
    ids=["forward", "forward replaced", "call wrapped", "mixed in over a call", "mixed in before", "mixed in after"],
)
def test_call_and_forward_are_inherited_as_all_methods_are_and_the_result_is_tagged(bases, body, expected):
    net = type("Net", bases, body)()
    out = net(Value(2.0))
    assert out.data == expected
    assert out._made_by[:-1] == (net,)


PUBLIC = [name for name in dir(Module) if not name.startswith("_") and name != "training"]


@pytest.mark.parametrize("name", PUBLIC)
def test_attribute_may_have_the_name_of_any_method(name, tmp_path):
    """`self.modules = [...]` is how people write a Sequential; the library asks the class for its methods."""
    from micrograd.nn.saving import load, save
    from micrograd.viz import draw_dot, movie

    class Net(Module):
        def __init__(self):
            setattr(self, name, [Layer(2, 2), Neuron(2)])

        def __call__(self, x):
            for layer in vars(self)[name]:
                x = layer(x)
            return x

    net, points, labels = Net(), [[0.0, 1.0], [1.0, 0.0]], [-1, 1]
    out = net(points[0])
    out.backward()
    assert not any(module.training for module in Module.modules(Module.eval(net)))
    assert all(module.training for module in Module.modules(Module.train(net)))
    draw_dot(out), repr(net), out.show()
    film = movie(net, points, labels)
    film.frame(1.0)
    assert [weights.size for weights in film.frames[0].states["weights"]] == [6, 3]
    save(net, tmp_path / "net")
    load(tmp_path / "net", into=net)
    Module.zero_grad(net)
    assert len(Module.named_parameters(net)) == 9
    assert {p.grad for p in Module.parameters(net)} == {0}


@pytest.mark.parametrize("seed", range(20))
def test_a_neuron_records_the_nodes_of_the_plain_sum(seed):
    """Whatever the weights, inputs and bias are: the values, the ops, the operands and the gradients, bit for bit."""

    class Traced(Value):
        def __mul__(self, other):
            return Traced(self.data * 2, (self,), (other.data if isinstance(other, Value) else float(other),))

    rng, shared = random.Random(seed), Value(0.5)
    numbers, nodes, constants = [float, int], [Value], [lambda x: Value(x, requires_grad=False)]
    weights, inputs = [
        (nodes, numbers + nodes),
        (constants + nodes, numbers + constants + nodes),
        (constants + nodes + [Traced], numbers + nodes + [bool, np.float64, Traced]),
    ][seed % 3]
    neuron = Neuron(5, nonlin=False)
    neuron.w = [shared if rng.random() < 0.3 else rng.choice(weights)(rng.uniform(-1, 1)) for _ in range(5)]
    neuron.b = rng.choice(weights)(0.25)
    x = [shared if rng.random() < 0.1 else rng.choice(inputs)(rng.uniform(-3, 3)) for _ in range(5)]

    def walked(out):
        nodes, waiting = [], [out]
        for _ in range(60):
            if waiting and isinstance(waiting[-1], Value):
                node = waiting.pop()
                nodes.append((type(node), node.data, node._op, node.requires_grad, len(node._prev)))
                waiting.extend(node._prev)
        return nodes

    def gradients(out):
        leaves = [v for v in [*neuron.w, neuron.b, *x] if isinstance(v, Value)]
        for leaf in leaves:
            leaf.grad = 0
        if isinstance(out, Value) and out.requires_grad:
            out.backward()
        return [leaf.grad for leaf in leaves]

    quick = neuron(x)
    plain = sum((w * y for w, y in zip(neuron.w, x, strict=True)), neuron.b)
    assert walked(quick) == walked(plain)
    assert gradients(quick) == gradients(plain)


@pytest.mark.parametrize("name", ["__mul__", "__add__"])
def test_neuron_uses_an_operator_that_was_put_in_place_of_values(name, monkeypatch):
    own, calls = getattr(Value, name), []
    monkeypatch.setattr(Value, name, lambda self, other: calls.append(other) or own(self, other))
    Neuron(3)([1.0, 2.0, 3.0])
    assert len(calls) == 3
