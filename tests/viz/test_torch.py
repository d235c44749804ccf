"""`viz.torch`: what a PyTorch program computes, computed again on Tensors, with PyTorch's gradients."""

import doctest
import gc
import math
import re
import warnings
import weakref

import numpy as np
import pytest

from micrograd import viz
from micrograd.viz import draw_dot, player
from micrograd.viz.drawing.data import drawn_node
from micrograd.viz.playing.views import PlayedGraph

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def shown(loss):
    """The graph that the player shows for a tensor."""
    return PlayedGraph(drawn_node(loss))


def checked(loss, leaves, rtol=1e-9):
    """The graph, whose gradients of these leaves are PyTorch's; the page says that all of them are."""
    wanted = torch.autograd.grad(loss, leaves, retain_graph=True, allow_unused=True)
    graph = shown(loss)
    assert re.search(r"All \d+ gradients agree with PyTorch", graph.remark), (graph.remark, graph.back.missing)
    for leaf, right in zip(leaves, wanted, strict=True):
        if right is not None:
            found, right = graph.back.grads[drawn_node(leaf)], right.double().numpy()
            np.testing.assert_allclose(found, right, rtol=rtol, atol=rtol * max(abs(right).max(), 1e-3))
    return graph


def ops(graph):
    return [node._op for node in graph.graph.nodes if node._op]


def double(*shape):
    return torch.randn(*shape, dtype=torch.double, requires_grad=True)


def test_example_of_the_docstring_runs_as_it_says():
    text = (viz.torch.__doc__ or "").replace("# doctest: +SKIP", "")
    example = doctest.DocTestParser().get_doctest(text, {"viz": viz, "player": player}, "viz.torch", None, 0)
    assert len(example.examples) == 5
    assert doctest.DocTestRunner().run(example).failed == 0


# ---------------------------------------------------------------------------------------------------------------------
# Programs as others write them


def test_program_of_numbers_is_the_graph_of_the_readme():
    a = torch.tensor(-4.0, dtype=torch.double, requires_grad=True)
    b = torch.tensor(2.0, dtype=torch.double, requires_grad=True)
    with viz.torch(a=a, b=b) as program:
        c = a + b
        d = a * b + b**3
        c += c + 1
        c += 1 + c + (-a)
        d += d * 2 + (b + a).relu()
        d += 3 * d + (b - a).relu()
        e = c - d
        f = e**2
        g = f / 2.0 + 10.0 / f
    g.backward()
    assert program.missing == []
    graph = checked_again(g, [a, b])
    assert "0e+00 of the largest" in graph.remark
    assert {node.label for node in graph.graph.nodes} >= {"a", "b"}


def checked_again(loss, leaves):
    """As `checked`, after PyTorch's own pass: its gradients are those of the hooks."""
    graph = shown(loss)
    assert re.search(r"All \d+ gradients agree with PyTorch", graph.remark), graph.remark
    for leaf in leaves:
        np.testing.assert_allclose(graph.back.grads[drawn_node(leaf)], leaf.grad.numpy(), rtol=1e-9, atol=1e-12)
    return graph


def test_batch_norm_written_by_hand_is_right():
    n, n_emb, block, hidden, vocab = 8, 3, 3, 10, 7
    C, W1, b1 = double(vocab, n_emb), double(n_emb * block, hidden), double(hidden)
    W2, b2, bngain, bnbias = double(hidden, vocab), double(vocab), double(1, hidden), double(1, hidden)
    parameters = [C, W1, b1, W2, b2, bngain, bnbias]
    Xb, Yb = torch.randint(0, vocab, (n, block)), torch.randint(0, vocab, (n,))
    with viz.torch() as program:
        emb = C[Xb]
        embcat = emb.view(emb.shape[0], -1)
        hprebn = embcat @ W1 + b1
        bnmeani = 1 / n * hprebn.sum(0, keepdim=True)
        bndiff = hprebn - bnmeani
        bnvar = 1 / (n - 1) * (bndiff**2).sum(0, keepdim=True)
        bnvar_inv = (bnvar + 1e-5) ** -0.5
        hpreact = bngain * (bndiff * bnvar_inv) + bnbias
        h = torch.tanh(hpreact)
        logits = h @ W2 + b2
        logit_maxes = logits.max(1, keepdim=True).values
        counts = (logits - logit_maxes).exp()
        counts_sum_inv = counts.sum(1, keepdims=True) ** -1
        logprobs = (counts * counts_sum_inv).log()
        loss = -logprobs[range(n), Yb].mean()
    assert program.missing == []
    checked(loss, parameters)
    cards = [card for scene in player(loss).data["scenes"] for card in scene["cards"]]
    assert {card["name"] for card in cards} >= {"bnvar_inv", "C", "W1", "hprebn", "loss"}


class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head, flash):
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)
        self.attn_dropout, self.resid_dropout = nn.Dropout(0.1), nn.Dropout(0.1)
        self.n_head, self.n_embd, self.flash = n_head, n_embd, flash
        self.register_buffer("bias", torch.tril(torch.ones(64, 64)).view(1, 1, 64, 64))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        if self.flash:
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=None, dropout_p=0, is_causal=True)
        else:
            att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
            att = self.attn_dropout(F.softmax(att, dim=-1))
            y = att @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.resid_dropout(self.c_proj(y))


class Block(nn.Module):
    def __init__(self, n_embd, n_head, flash=True):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.attn = CausalSelfAttention(n_embd, n_head, flash)
        self.mlp = nn.ModuleDict({"c_fc": nn.Linear(n_embd, 4 * n_embd), "c_proj": nn.Linear(4 * n_embd, n_embd)})
        self.gelu = nn.GELU()

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp["c_proj"](self.gelu(self.mlp["c_fc"](self.ln_2(x))))


class GPT(nn.Module):
    """With tied weights, as GPT-2 has them."""

    def __init__(self, vocab, size, n_embd, n_head, layers=2, flash=True):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, n_embd), nn.Embedding(size, n_embd)
        self.h = nn.ModuleList(Block(n_embd, n_head, flash) for _ in range(layers))
        self.ln_f, self.lm_head = nn.LayerNorm(n_embd), nn.Linear(n_embd, vocab, bias=False)
        self.wte.weight = self.lm_head.weight

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)


@pytest.mark.parametrize("flash", [True, False])
def test_small_gpt_with_dropout_and_tied_weights_is_right(flash):
    model = GPT(11, 8, 12, 3, flash=flash).double()
    idx = torch.randint(0, 11, (2, 6))
    with viz.torch(model) as program:
        loss = model(idx, idx.roll(-1, 1))
    assert program.missing == ["gelu"]
    graph = checked(loss, [*model.parameters()])
    assert sum(node is drawn_node(model.wte.weight) for node in graph.graph.nodes) == 1


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, channels, 3, padding=1, stride=2, bias=False), nn.BatchNorm2d(channels)
        self.conv2, self.bn2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)
        self.downsample = nn.Sequential(nn.Conv2d(3, channels, 1, stride=2, bias=False), nn.BatchNorm2d(channels))
        self.relu, self.fc = nn.ReLU(inplace=True), nn.Linear(channels, 4)

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.downsample(x)
        out = F.max_pool2d(self.relu(out), 2)
        return self.fc(torch.flatten(out.mean((2, 3)), 1))


@pytest.mark.parametrize("training", [True, False])
def test_residual_block_of_convolutions_is_right_in_both_modes(training):
    model = Residual(4).double().train(training)
    with viz.torch(model) as program:
        loss = F.cross_entropy(model(torch.randn(3, 3, 8, 8).double()), torch.tensor([0, 2, 1]))
    assert program.missing == []
    checked(loss, [*model.parameters()])


def test_lstm_by_cells_is_right():
    class LSTM(nn.Module):
        def __init__(self):
            super().__init__()
            self.x2h, self.h2h, self.out = nn.Linear(3, 16), nn.Linear(4, 16, bias=False), nn.Linear(4, 1)

        def forward(self, xs):
            h = c = xs.new_zeros(xs.shape[1], 4)
            for x in xs:
                i, f, g, o = (self.x2h(x) + self.h2h(h)).chunk(4, 1)
                c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
                h = torch.sigmoid(o) * torch.tanh(c)
            return self.out(h)

    model = LSTM().double()
    with viz.torch(model) as program:
        loss = F.mse_loss(model(torch.randn(5, 2, 3).double()), torch.ones(2, 1).double())
    assert program.missing == []
    graph = checked(loss, [*model.parameters()])
    assert len(graph.graph.nodes) > 60
    assert any(card.times == 5 for card in graph.story().scenes[0].cards)  # a module that is called for each step


# ---------------------------------------------------------------------------------------------------------------------
# Op by op: right, or a card of PyTorch's own


X, W, V, P = (torch.randn(*shape, dtype=torch.double) for shape in ((3, 4), (4, 4), (4,), (3, 4)))
P = P.abs() + 0.5
IDS, IMAGE = torch.tensor([[0, 2, 1], [1, 1, 2]]), torch.randn(2, 3, 6, 6, dtype=torch.double)
Q = torch.randn(2, 2, 5, 4, dtype=torch.double)
RIGHT_CALLS = """
x+1 1+x 1-x x/2 2/x x**2 2**x p**x x@w x@v w.T@v torch.mm(x,w) torch.bmm(q[0],q[0].mT) x.t() -x abs(x)
torch.divide(x,p) torch.true_divide(x,p) torch.add(input=x,other=p) torch.dot(v,v) torch.outer(v,v)
torch.einsum('ij,jk->ik',x,w)
x.max(dim=1).values x.max(1)[0] x.max() x.min(0,keepdim=True)[0] x.amax(1) torch.minimum(x,p)
x.sort(1).values x.clamp(-1,1) x.clamp(min=0)
x[0] x[:,None] x[...,1:] x[[0,2]] x[x>0] x[range(3),[0,1,2]] x[torch.tensor([0,1]),torch.tensor([1,1])]
x.split(2,1)[1] torch.split(x,[1,3],dim=1)[1] x.chunk(2,-1)[0]
x.flip(0) x.roll(1,1) x.tril()
x.view(4,3) x.reshape(2,-1) x.flatten() x.unsqueeze(0) x[None].squeeze(0) x.permute(1,0) x.expand(2,3,4) v.expand_as(x)
torch.cat([x,p]) torch.cat((x,p),dim=1) torch.stack([x,p],1) torch.where(x>0,x,p) x.masked_fill(x>0,0.0)
x.sum(0) x.sum(1,keepdim=True) x.sum((0,1)) x.mean(-1) x.var() x.var(0,unbiased=False) x.std(1) x.norm() x.norm(dim=1)
x.prod(1) x.cumsum(0) x.logsumexp(1) x.softmax(1) F.softmax(x,dim=-1) F.log_softmax(x,1)
x.exp() p.log() x.tanh() torch.sigmoid(x) F.relu(x) F.silu(x) F.gelu(x,approximate='tanh')
F.softplus(x) p.rsqrt() x.detach()+x x.data*x x.clone() x.to(torch.float32).double()
F.linear(x,w,v) F.layer_norm(x,(4,),v,v,1e-6) F.layer_norm(x,(3,4)) F.embedding(ids,x) F.dropout(x,0.5)
F.batch_norm(x,v*0,v**2,v,v) F.batch_norm(x,v*0,v**2,v,v,training=True) F.conv2d(image,image[:,:,:3,:3],padding='same')
F.max_pool2d(image,2) F.avg_pool2d(image,2) F.scaled_dot_product_attention(q,q,q)
F.scaled_dot_product_attention(q,q,q,is_causal=True) F.scaled_dot_product_attention(q,q,q,attn_mask=q[0,0]@q[0,0].T)
F.cross_entropy(x,torch.tensor([0,3,1])) F.cross_entropy(x,torch.tensor([0,3,1]),reduction='none') F.mse_loss(x,p)
F.nll_loss(x,torch.tensor([0,3,1])) F.binary_cross_entropy_with_logits(x,(p>1).double())
"""
TORCHS_CALLS = """
x%2 torch.sub(x,p,alpha=2) torch.multiply(x,p) torch.max(x,p) x.min() torch.addmm(v,x,w) F.gelu(x)
torch.addmm(v,x,w,beta=2) x.topk(2)[0] x.unbind(1)[2] torch.erf(x)
x.gather(1,torch.tensor([[0],[1],[2]]))
x.index_select(0,torch.tensor([0,0,2])) x.repeat(2,1) x.masked_select(x>0) w.diagonal() F.leaky_relu(x,0.2)
F.normalize(x) torch.erfinv(x.tanh()) F.mish(x) torch.cumprod(p,0) torch.linalg.inv(w) F.rms_norm(x,(4,))
F.cosine_similarity(x,p) torch.kron(x,w) torch.fft.rfft(x).abs() torch.complex(x,p).abs() x.to_sparse().to_dense()
F.dropout2d(image) F.conv_transpose2d(image,image.transpose(0,1)) F.embedding(ids,x,padding_idx=1)
F.embedding(ids,x,scale_grad_by_freq=True) F.scaled_dot_product_attention(q,q,q,dropout_p=0.5)
F.cross_entropy(x,torch.tensor([0,-100,1])) F.cross_entropy(x,torch.tensor([0,3,1]),weight=p[0].detach())
F.cross_entropy(x,torch.tensor([0,3,1]),label_smoothing=0.1) F.cross_entropy(x,p.softmax(1))
F.scaled_dot_product_attention(q,q,q,attn_mask=torch.zeros(5,5)>0) torch.add(x,0*p,alpha=2)
F.cross_entropy(x,torch.tensor([0,3,1]),ignore_index=3,reduction='sum') F.nll_loss(x,torch.tensor([0,3,1]),weight=v**2)
"""


def run(call):
    names = {"x": X, "w": W, "v": V, "p": P, "q": Q, "image": IMAGE}
    names = {name: t.clone().requires_grad_() for name, t in names.items()}
    if "weight=v" in call or "v*0" in call:  # what PyTorch differentiates by no means
        names["v"] = V.clone()
    with viz.torch(**names) as program:
        out = eval(call, globals(), {**names, "ids": IDS})
        loss = (out * torch.linspace(0.5, 1.5, out.numel()).reshape(out.shape)).sum()
    return program, loss, [t for t in names.values() if t.requires_grad]


@pytest.mark.parametrize("call", RIGHT_CALLS.split())
def test_op_with_a_counterpart_is_right(call):
    program, loss, leaves = run(call)
    assert program.missing == []
    checked(loss, leaves, rtol=1e-6 if "float32" in call else 1e-9)


@pytest.mark.parametrize("call", TORCHS_CALLS.split())
def test_op_without_a_counterpart_is_a_card_of_pytorchs_own(call):
    program, loss, leaves = run(call)
    assert len(program.missing) == 1
    graph = checked(loss, leaves)
    marks = [card.mark for scene in graph.story().scenes for card in scene.cards]
    assert marks.count("torch only") == 1


@pytest.mark.parametrize("call", TORCHS_CALLS.split())
def test_card_of_pytorchs_own_knows_its_gradient_after_pytorchs_pass(call):
    _, loss, _ = run(call)
    loss.backward()
    assert "gradients agree" in shown(loss).remark


# ---------------------------------------------------------------------------------------------------------------------
# Writes in place, views, and what is not recorded


def written_whole(x, y):
    z = x * 2
    z.add_(y)
    z *= y
    return z.exp_()


def written_by_index(x, y):
    z = x * 2
    before = z + 1
    z[0] = y[1]
    z[:, 1] *= 3
    return z * before


def view_is_written_to(x, y):
    z = x * 2
    row = z[0]
    row.mul_(y[0])
    return z * y


def base_is_written_to(x, y):
    z = x * 2
    row = z[0]
    z.mul_(y)
    return row * z[1]


def constant_becomes_a_result(x, y):
    z = torch.zeros(3, 4, dtype=torch.double)
    first = z.sum()
    z[1] = x[0]
    return z * y + first


def constant_is_written_to_through_a_view(x, y):
    mask = torch.ones(3, 4, dtype=torch.double)
    before = x + mask
    mask.view(-1)[:5] = 0
    return before + y * mask


def written_to_without_gradient(x, y):
    z = x * y
    with torch.no_grad():
        z += 1
    return z.tanh()


def data_are_written_to(x, y):
    z = x + y
    z.data.mul_(2)
    return z * y


def detached(x, y):
    return x.detach() * y + (x * y).detach() * x


def without_gradient(x, y):
    with torch.no_grad():
        scale = (x * y).sum()
    return x * scale


def written_by_what_has_no_counterpart(x, y):
    z = x * 2
    z.index_add_(0, torch.tensor([1, 1]), y[:2])
    z.addcmul_(y, y)
    return z * y


def parts_of_one_result(x, y):
    a, b = torch.linalg.eigh(x.T @ x)
    q, r = torch.linalg.qr(y)
    return a.sum() * (b**2).sum() + (q * x[:, :3]).sum() * r.sum() * a[0]


def chained_without_a_counterpart(x, y):
    z = x.tanh().erfinv()
    return F.mish(z * y) * z + F.mish(z)


def shape_is_changed_in_place(x, y):
    z = x * 2
    before = z.sum()
    z.t_().unsqueeze_(0)
    return z @ y + before


def gradient_that_is_rounding_alone(x, y):
    return (x + y.tanh().erfinv().sum(1, keepdim=True)).softmax(1) * y


@pytest.mark.parametrize(
    "program",
    [x for x in [*vars().values()] if getattr(x, "__code__", None) and x.__code__.co_varnames[:2] == ("x", "y")],
)
def test_program_has_pytorchs_gradients(program):
    x, y = double(3, 4), double(3, 4)
    with viz.torch(x=x, y=y):
        loss = (program(x, y) ** 2).sum()
    before = checked(loss, [x, y])
    loss.backward()
    after = shown(loss)
    assert "gradients agree" in after.remark
    for leaf in [t for t in (x, y) if t.grad is not None]:
        np.testing.assert_allclose(after.back.grads[drawn_node(leaf)], leaf.grad.numpy(), rtol=1e-9, atol=1e-12)
    assert len(before.graph.nodes) == len(after.graph.nodes)


class Cells(nn.LSTMCell):
    """Of the results of a step, one depends on the other."""

    def forward(self, xs):
        h = c = xs.new_zeros(xs.shape[1], self.hidden_size)
        for x in xs:
            h, c = super().forward(x, (h, c))
        return h


NETWORKS = {
    "LSTM": (lambda: nn.LSTM(3, 4, 2, dropout=0.1), (5, 2, 3), ["lstm"]),
    "cells of an LSTM": (lambda: Cells(3, 4), (5, 2, 3), ["lstm_cell"]),
    "GRU": (lambda: nn.GRU(3, 4), (5, 2, 3), ["gru"]),
    "convolutions along one axis": (
        lambda: nn.Sequential(nn.Conv1d(3, 4, 3), nn.GroupNorm(2, 4), nn.Tanh(), nn.AdaptiveAvgPool1d(2)),
        (2, 3, 9),
        ["conv1d", "group_norm", "adaptive_avg_pool1d"],
    ),
    "weights that are computed": (
        lambda: nn.utils.parametrizations.weight_norm(nn.Linear(3, 4)),
        (2, 3),
        ["weight_norm"],
    ),
    "a module that is called on its result": (lambda: nn.Sequential(*[nn.BatchNorm1d(3)] * 2), (5, 3), []),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_results_all_have_pytorchs_gradients(name):
    make, shape, missing = NETWORKS[name]
    model = make().double()
    with viz.torch(model) as program:
        out = model(torch.randn(*shape).double())
        parts = [out] if isinstance(out, torch.Tensor) else [out[0], *([out[1]] if name == "GRU" else out[1])]
        loss = sum((part.square() * (k + 1)).sum() for k, part in enumerate(parts))
    assert program.missing == missing
    checked(loss, [*model.parameters()])
    loss.backward()
    assert "gradients agree" in shown(loss).remark


def test_random_choices_of_the_program_are_its_own():
    x = double(3, 4)
    with viz.torch(x=x) as program:
        drawn = torch.distributions.Normal(x, x.exp()).rsample()
        loss = (F.gumbel_softmax(drawn, hard=True) * x).sum()
    assert program.missing == []
    checked(loss, [x])


def test_function_over_a_batch_is_a_card():
    x = double(3, 4)
    with viz.torch(x=x) as program:
        loss = torch.vmap(lambda row: (row * row).sum().tanh())(x).sum()
    assert program.missing == ["Tanh"]
    checked(loss, [x])


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scale, x, name, y):
        ctx.save_for_backward(x, y)
        ctx.scale = scale
        return scale * x**3 * y, x + y

    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return None, g * ctx.scale * 3 * x**2 * y + h, None, g * ctx.scale * x**3 + h


def test_function_of_the_users_own_is_a_card():
    x, y = double(3), double(3)
    with viz.torch(x=x, y=y) as program:
        cube, total = Cube.apply(2.0, x, "no tensor", x * y)
        loss = (cube * total + x).sum()
    checked(loss, [x, y])
    assert [name for name in program.missing if "Cube" in name] == program.missing != []


def test_what_was_computed_before_is_a_card_over_its_leaves():
    x = double(3)
    y = x.exp() * x
    with viz.torch(x=x):
        loss = (y * x).sum()
    checked(loss, [x])


def test_scripted_and_compiled_modules_are_right():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 2)

        def forward(self, x):
            return self.b(torch.tanh(self.a(x)) * 2)

    model = Net().double()
    with warnings.catch_warnings():  # of PyTorch's about itself
        warnings.simplefilter("ignore")
        nets = torch.jit.script(model), torch.compile(model)
    for net in nets:
        with viz.torch(net) as program:
            loss = net(torch.randn(5, 3).double()).sum()
        checked(loss, [*model.parameters()])
    assert program.missing == []


def test_composed_functions_of_pytorch_are_seen_inside():
    model = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).double()
    with viz.torch(model) as program:
        loss = model(torch.randn(2, 5, 8).double()).square().sum()
    assert program.missing == []
    graph = checked(loss, [*model.parameters()])
    assert "softmax" in ops(graph)


def test_checkpointed_part_is_right():
    from torch.utils.checkpoint import checkpoint

    x, w = double(3, 4), double(4, 4)
    with viz.torch(x=x, w=w):
        loss = (checkpoint(lambda x: (x @ w).tanh() @ w, x, use_reentrant=False) * x).sum()
    checked(loss, [x, w])


@pytest.mark.parametrize("backward", [False, True])
def test_reentrant_checkpoint_keeps_its_gradients_and_the_page_names_the_other_kind(backward):
    """Its backward pass adds to `.grad`, so it is called by PyTorch's pass alone."""
    from torch.utils.checkpoint import checkpoint

    model, x = nn.Linear(3, 3).double(), double(2, 3)
    model(x).sum().backward()
    once = model.weight.grad.clone()
    model.zero_grad()
    with viz.torch(model, x=x):
        loss = checkpoint(model, x, use_reentrant=True).sum()
    if backward:
        loss.backward()
    assert "use_reentrant=False" in player(loss).data["missing"]
    assert torch.equal(model.weight.grad, once) if backward else model.weight.grad is None


@pytest.mark.parametrize(
    "layer", [nn.Embedding(5, 3, sparse=True), nn.EmbeddingBag(5, 3, sparse=True, mode="sum")], ids=["one", "bag"]
)
def test_sparse_gradients_are_compared(layer):
    layer.double()
    with viz.torch(layer):
        loss = layer(IDS).square().sum()
    loss.backward()
    graph = shown(loss)
    assert "gradients agree" in graph.remark
    np.testing.assert_allclose(graph.back.grads[drawn_node(layer.weight)], layer.weight.grad.to_dense().numpy())


def test_complex_leaf_is_its_real_and_imaginary_parts():
    x = double(3, 3)
    w = torch.randn(3, 3, dtype=torch.cdouble, requires_grad=True)
    with viz.torch(x=x, w=w) as program:
        loss = (torch.fft.fft2(x) * w).abs().square().sum()
    loss.backward()
    assert program.missing == ["abs"]
    graph = shown(loss)
    assert "All 5 gradients agree" in graph.remark
    np.testing.assert_allclose(graph.back.grads[drawn_node(w)], torch.view_as_real(w.grad).numpy())


def test_leaf_of_a_subclass_is_compared():
    class Own(torch.Tensor):
        pass

    x = torch.randn(3, dtype=torch.double).as_subclass(Own).requires_grad_()
    with viz.torch(x=x):
        loss = (x * x).tanh().sum()
    assert "All 4 gradients agree" in shown(loss).remark


def test_function_that_is_near_pytorchs_is_not_taken_for_it():
    x = torch.randn(3, requires_grad=True)
    with viz.torch(x=x) as program:
        loss = F.gelu(x).sum()
    assert program.missing == ["gelu"]
    assert "gradients agree" in shown(loss).remark


def test_derivative_inside_the_program_is_a_part_of_it():
    x = double(3)
    with viz.torch(x=x):
        (slope,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        inner = torch.func.grad(lambda w: (w**3 * x).sum())(torch.ones(3, dtype=torch.double))
        loss = (slope * x + inner).sum()
    checked(loss, [x])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_program_in_other_floats_agrees_as_far_as_these_go(dtype):
    model = GPT(11, 8, 12, 3, layers=1).to(dtype)
    with viz.torch(model):
        loss = model(torch.randint(0, 11, (2, 6)), torch.randint(0, 11, (2, 6)))
    loss.backward()
    remark = shown(loss).remark
    assert f"program in {str(dtype)[6:]}, computed again in float64" in remark
    assert "gradients agree" in remark


def test_autocast_is_a_program_in_two_floats():
    model = GPT(11, 8, 12, 3, layers=1)
    with viz.torch(model), torch.autocast("cpu", torch.bfloat16):
        loss = model(torch.randint(0, 11, (2, 6)), torch.randint(0, 11, (2, 6)))
    remark = shown(loss).remark
    assert "program in bfloat16, float32, computed" in remark
    assert "gradients agree" in remark


# ---------------------------------------------------------------------------------------------------------------------
# The context, and what it leaves behind


def test_steps_of_a_training_each_have_their_graph():
    model = nn.Linear(3, 1).double()
    opt, x, losses = torch.optim.SGD(model.parameters(), lr=0.1), torch.randn(5, 3).double(), []
    with viz.torch(model):
        for _ in range(3):
            losses.append(model(x).square().mean())
            opt.zero_grad()
            losses[-1].backward()
            opt.step()
    for loss in losses:
        graph = shown(loss)
        assert math.isclose(graph.root._data, loss.item(), rel_tol=1e-12)
        assert "gradients agree" in graph.remark or "not compared" in graph.remark
    assert "All 5 gradients agree" in graph.remark


def test_context_can_be_used_twice_and_nested():
    x = double(3)
    recording = viz.torch(x=x)
    with recording:
        y = x * 2
    with recording, viz.torch() as inner:
        loss = (y * x).sum()
    checked(loss, [x])
    assert inner.missing == recording.missing == []


def test_error_in_the_program_is_the_users_and_ends_the_recording():
    model = nn.Sequential(nn.Linear(3, 2), nn.Linear(3, 2)).double()
    with pytest.raises(RuntimeError, match="mat1 and mat2"), viz.torch(model) as program:
        model(torch.ones(1, 3).double())
    assert program._made_by == ()
    y = model[0](torch.ones(1, 3).double())
    with pytest.raises(TypeError, match=r"compute it inside `with viz.torch"):
        player(y)


def test_recording_leaves_no_hook_and_keeps_nothing_alive():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double()
    with viz.torch(model) as program:
        loss = torch.special.erfinv(model(torch.ones(2, 3).double()).tanh()).sum()
    loss.backward()
    node = weakref.ref(drawn_node(loss))
    tensor = weakref.ref(loss)
    del loss, program
    gc.collect()
    assert node() is None
    assert tensor() is None
    assert not any(p._backward_hooks for p in model.parameters())
    assert all(drawn_node(p) is p for p in model.parameters())


def test_numbers_and_gradients_of_the_program_are_those_without_recording():
    def results(context):
        torch.manual_seed(0)
        model = GPT(11, 8, 12, 3)
        with context:
            loss = model(torch.arange(6)[None], torch.arange(6)[None])
            loss.backward()
        return [loss, *[p.grad for p in model.parameters()]]

    from contextlib import nullcontext

    for a, b in zip(results(nullcontext()), results(viz.torch()), strict=True):
        assert torch.equal(a, b)


def test_modules_fold_by_their_paths():
    model = GPT(11, 8, 12, 3)
    with viz.torch(model):
        loss = model(torch.arange(6)[None], torch.arange(6)[None])
    data = player(loss).data
    titles = [card.get("title", "") for scene in data["scenes"] for card in scene["cards"]]
    assert {"▸ h.0: Block", "▸ h.1.attn.c_attn: Linear", "▸ ln_f: LayerNorm"} <= {*titles}


def test_part_of_a_model_has_its_path_too():
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    with viz.torch(model):
        loss = model[1](model[0](torch.ones(2, 3)).tanh()).sum()
    graph = shown(loss)
    assert {str(call[0]) for call in graph.calls if call} == {"(0: Linear,)", "(1: Linear,)"}
    assert [graph.names[id(drawn_node(p))] for p in model.parameters()] == ["0.weight", "0.bias", "1.weight", "1.bias"]


def test_module_called_twice_is_two_calls():
    layer = nn.Linear(3, 3)
    with viz.torch(layer):
        loss = layer(layer(torch.ones(2, 3))).sum()
    assert [len({call for call in shown(loss).calls if call}), ops(shown(loss)).count("linear")] == [2, 2]


def test_first_gradient_that_differs_is_marked():
    x = double(3)
    x.register_hook(lambda g: g * 2)
    with viz.torch(x=x):
        y = x * 3
        y.register_hook(lambda g: g + 1)
        z = y.sin()
        loss = (z * z).sum()
    page = player(loss)
    assert "the first gradient that differs from PyTorch’s is that of x, by " in page.data["remark"]
    marked = [card["name"] for card in page.data["scenes"][0]["cards"] if "≠ PyTorch" in card.get("aside", "")]
    assert marked == ["x"]


def test_drawing_shows_pytorchs_gradients():
    x = double(2)
    with viz.torch(x=x):
        loss = (x * x).sum()
    assert "grad -" in draw_dot(loss).source
    loss.backward()
    assert str(viz.drawing.data.value_text(x.grad.numpy())) in draw_dot(loss).source


def test_pass_from_elsewhere_is_not_compared():
    x = double(2)
    with viz.torch(x=x):
        loss = (x * x).sum()
        total = loss / 4 + x.sum()
    total.backward()
    assert "not compared" in shown(loss).remark
    assert "gradients agree" in shown(total).remark


def test_pass_from_elsewhere_lends_no_gradient():
    """A part of PyTorch's own, whose graph is freed, knows what it sent for one gradient alone, however small."""
    x = torch.randn(50, 100, requires_grad=True)
    with viz.torch(x=x):
        loss = torch.erfinv(x.tanh() / 2).mean()
    (loss / 4).backward()
    graph = shown(loss)
    assert "not compared" in graph.remark
    assert "backward through the graph a second time" in graph.back.missing
