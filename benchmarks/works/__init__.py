"""The works, in the order of the table. A new one: write a module with a WORK in it, and name it here."""

from benchmarks.work import Work
from benchmarks.works import long_chain, memory, moons, readme_graph, tensor_steps, training

WORKS: dict[str, Work] = {
    module.WORK.name: module.WORK for module in (moons, readme_graph, memory, long_chain, training, tensor_steps)
}
