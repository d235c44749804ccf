"""The works, in the order of the table. A new one: write a module with a WORK in it, and name it here."""

from benchmarks.work import Work
from benchmarks.works import (
    compiled,
    compiled_gpt,
    compiled_sizes,
    first_use,
    gpt_letters,
    long_chain,
    memory,
    moons,
    readme_graph,
    tensor_steps,
    training,
)

MODULES = (
    first_use,
    moons,
    readme_graph,
    memory,
    long_chain,
    training,
    tensor_steps,
    compiled,
    compiled_gpt,
    gpt_letters,
    compiled_sizes,
)
WORKS: dict[str, Work] = {module.WORK.name: module.WORK for module in MODULES}
