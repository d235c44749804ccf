"""The exercises of lesson 7."""

from typing import Any

from check import exercise, function, functions, kind, near, number, number_exercise

from micrograd import Value

number_exercise(
    "7.1",
    32,
    {
        25: "those are the weights; each neuron has a bias too",
        8: "that is 3 + 5; each of the five neurons has a weight for each of the three inputs",
        10: "that is 3 + 5 + 2, or the weights of the last layer alone; count those of all neurons, and their biases",
        7: "that is how many neurons there are; each has several weights and a bias",
        15: "those are the weights of the first layer",
        17: "those are the weights of the first layer and two biases; the last two neurons have weights, too",
        20: "that is the first layer; the other two neurons take its five answers",
        12: "that is the last layer; the five neurons before it have parameters, too",
        21: "that is the first layer and one more; the other two neurons have 5 + 1 parameters each",
        27: "the five neurons of the first layer have a bias each, too",
        30: "the two neurons of the last layer have a bias each, too",
        28: "the other two neurons take five answers, not three, so they have 5 + 1 parameters each",
    },
    "there are not {:g}; five neurons have 3 + 1 parameters each, and how many do the other two have?",
    tolerance=0,
)


number_exercise(
    "7.2",
    0.05,
    {
        0.5: "a step this large overshoots, and further each time; look at the losses",
        0.01: "the loss is falling, but a hundred steps of that size are not enough; run all three",
    },
    "answer with one of 0.01, 0.05 and 0.5; found {:g}",
    tolerance=0,
)


@exercise("7.3", of=functions(2))
def _(given: Any) -> str | None:
    model, loss_of = given
    points, kinds = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)], [-1, 1, 1, -1]
    answers = [model(point) for point in points]
    if isinstance(answers[0], list):
        return f"a list of {len(answers[0])} answers to each point; one is needed, so the last layer has one neuron"
    loss = sum((number(answer) - kind) ** 2 for answer, kind in zip(answers, kinds, strict=True))
    said = number(loss_of(model))
    if not near(said, loss, 1e-6):
        return f"your loss_of gives {said:.4g}, and the squared errors for the four points add up to {loss:.4g}"
    return (
        None
        if loss < 1e-4
        else f"its loss is {loss:.4g}; does it need more steps, more neurons, or another learning rate?"
    )


@exercise("7.4", of=function)
def _(gradients: Any) -> str | None:
    points, kinds = [(0.0, 0.5), (0.3, 1.0), (1.0, -0.2), (1.0, 1.0)], [-1, 1, 1, -1]
    hidden, output = [[0.5, -0.3, 0.1], [1.2, 0.7, -0.4], [-0.6, 0.9, 0.2]], [0.8, -1.1, 0.4, 0.3]
    given = [[Value(x) for x in row] for row in hidden], [Value(x) for x in output]
    total: Any = 0.0
    for (x, y), target in zip(points, kinds, strict=True):
        answers = [(w1 * x + w2 * y + b).tanh() for w1, w2, b in given[0]]
        out = sum(w * answer for w, answer in zip(given[1], answers, strict=False)) + given[1][-1]
        total = total + (out - target) ** 2
    total.backward()
    found = gradients([list(row) for row in hidden], list(output), points, kinds)
    if not isinstance(found, tuple) or len(found) != 3:
        return f"return three things, the loss and two lists of gradients; found {kind(found)}"
    loss, of_hidden, of_output = found
    if near(loss, float(out.data - target) ** 2, 1e-6):
        return "that is the loss of the last point alone: write += in the loop"
    if near(4 * number(loss), total.data, 1e-6):
        return "that is the mean of the four points; the loss is their sum"
    if not near(loss, total.data, 1e-6):
        return f"the loss is {total.data:.4f}, yours is {number(loss):.4f}: the sum over all points"
    try:
        forms = [len(row) for row in of_hidden], len(of_output)
    except TypeError:
        forms = None
    if forms != ([3, 3, 3], 4):
        return "the gradients have the forms of hidden and of output: three lists of three, and then a list of four"
    if all(row is of_hidden[0] for row in of_hidden):
        return "the three rows of the gradients of hidden are one and the same list: make a new one for each row"
    wanted = [("the bias of the output", of_output[-1], given[1][-1].grad)]
    wanted += [(f"output[{i}]", of_output[i], given[1][i].grad) for i in range(3)]
    wanted += [(f"hidden[{i}][{j}]", of_hidden[i][j], given[0][i][j].grad) for i in range(3) for j in (2, 0, 1)]
    done = 0
    for name, have, want in wanted:
        if near(have, want, 1e-6):
            done += 1
            continue
        so_far = f"{done} of {len(wanted)} are right. The gradient of {name} is {want:.4f}, yours is {number(have):.4f}"
        if near(2 * number(have), want, 1e-6):
            return f"{so_far}: the slope of a square has a factor of 2"
        if near(-number(have), want, 1e-6):
            return f"{so_far}: the sign, which is the answer minus the kind"
        if name.startswith("hidden"):
            return f"{so_far}: the path goes through an output weight, the slope of tanh, and an input"
        if have == 0:
            return f"{so_far}: nothing has been added to it"
        if name.startswith("output") and near(have, given[1][-1].grad, 1e-6):
            return f"{so_far}: that is the gradient of the bias; this weight is multiplied by its neuron's answer"
        return f"{so_far}: add up over the points"
    return None
