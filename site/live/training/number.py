from micrograd.functional import mse
from micrograd.nn import MLP
from micrograd.optim import SGD

model = MLP(1, [8, 8, 1], activation="tanh")
optimizer = SGD(model.parameters(), lr=0.1)

def step(batch):
    """Train once, on some of the points."""
    points, answers = zip(*batch)
    scores = [model(point) for point in points]
    loss = mse(scores, answers)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss
