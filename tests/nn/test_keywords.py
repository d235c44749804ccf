"""Misspelt keywords: the error names the right one."""

import pytest

from micrograd import Value, nn
from micrograd.optim import SGD, Adam, AdamW, CosineAnnealingLR, StepLR, clip_grad_norm

X = Value(1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Value(1.0, require_grad=True), "Value has no keyword require_grad: did you mean requires_grad?"),
        (lambda: Value(1.0, requires_gradient=True), "Value has no keyword requires_gradient: did you mean requires"),
        (lambda: Value(1.0, lable="x"), "Value has no keyword lable: did you mean label?"),
        (lambda: Value(1.0, name="x"), "Value has no keyword name: did you mean label?"),
        (lambda: nn.Neuron(2, act="tanh"), "Neuron has no keyword act: did you mean activation?"),
        (lambda: nn.Neuron(2, nonlinear=False), "Neuron has no keyword nonlinear: did you mean nonlin?"),
        (lambda: nn.Layer(2, 1, act="tanh"), "Neuron has no keyword act: did you mean activation?"),
        (lambda: nn.MLP(2, [1], act="tanh"), "MLP has no keyword act: did you mean activation?"),
        (lambda: nn.MLP(2, nout=[1]), "MLP has no keyword nout: did you mean nouts?"),
        (lambda: nn.Linear(2, 1, biass=False), "Linear has no keyword biass: did you mean bias?"),
        (lambda: nn.Conv2d(2, 1, kernel=3), "Conv2d has no keyword kernel: did you mean kernel_size?"),
        (lambda: nn.Parameter([1.0], require_grad=False), "Parameter has no keyword require_grad: did you mean req"),
        (lambda: SGD([X], learning_rate=0.1), "SGD has no keyword learning_rate: did you mean lr?"),
        (lambda: Adam([X], learning_rate=0.1), "Adam has no keyword learning_rate: did you mean lr?"),
        (lambda: AdamW([X], weight_deacy=0.1), "AdamW has no keyword weight_deacy: did you mean weight_decay?"),
        (lambda: StepLR(SGD([X], 0.1), stepsize=3), "StepLR has no keyword stepsize: did you mean step_size?"),
        (lambda: CosineAnnealingLR(SGD([X], 0.1), t_max=3), "no keyword t_max: did you mean T_max?"),
        (lambda: X.clip(min=0.0), "clip() has no keyword min: did you mean low?"),
        (lambda: X.clip(0.0, max=1.0), "clip() has no keyword max: did you mean high?"),
        (lambda: clip_grad_norm([X], max_nrom=1.0), "clip_grad_norm() has no keyword max_nrom: did you mean max_norm?"),
    ],
)
def test_misspelt_keyword_names_the_right_one(call, message):
    with pytest.raises(TypeError) as found:
        call()
    assert message in str(found.value)
