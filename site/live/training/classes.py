from micrograd.functional import cross_entropy
from micrograd.nn import MLP
from micrograd.optim import SGD

model = MLP(2, [8, 8, 3], activation="tanh")
optimizer = SGD(model.parameters(), lr=0.3)

def step(batch):
    """Train once, on some of the points."""
    points, answers = zip(*batch)
    scores = [model(point) for point in points]
    loss = cross_entropy(scores, answers)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss
