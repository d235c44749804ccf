import random

from micrograd.functional import cross_entropy
from micrograd.nn import MLP
from micrograd.optim import SGD

CLASSES = ["circles", "triangles"]
MIDDLE, REACH = (0, 0), (1, 1)  # of x and y: what becomes 0, and what lies 1 from it
ROWS = [  # x, y, number of the class
]
HELD_OUT, SEED = 0.3, 1  # the part of the rows that is not trained on, and how it is drawn

random.seed(SEED)
rows = [([(x - MIDDLE[0]) / REACH[0], (y - MIDDLE[1]) / REACH[1]], label) for x, y, label in ROWS]
random.shuffle(rows)
size = int(HELD_OUT * len(rows))
held_out, points = rows[:size], rows[size:]

model = MLP(2, [8, 8, len(CLASSES)], activation="tanh")
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

def right(points):
    """How many points have their largest score at their class."""
    scores = [[score.data for score in model(point)] for point, _ in points]
    return sum(s.index(max(s)) == answer for s, (_, answer) in zip(scores, points))

if __name__ == "__main__":  # outside of the page, which calls step by itself
    for k in range(1001):
        loss = step(random.sample(points, min(20, len(points))))
        if k % 100 == 0:
            print(f"step {k}: loss {loss.data:.4f}, right {right(points)} of {len(points)}, "
                  f"held out {right(held_out)} of {len(held_out)}")
