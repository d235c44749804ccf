from micrograd.functional import hinge
from micrograd.nn import MLP
from micrograd.optim import SGD

model = MLP(2, [8, 8, 1], activation="tanh")
optimizer = SGD(model.parameters(), lr=0.3)

def step(batch):
    """Train once, on some of the points."""
    points, answers = zip(*batch)
    scores = [model(point) for point in points]
    loss = hinge(scores, answers)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss
