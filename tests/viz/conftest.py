"""`page`: a player's page in Node."""

from collections.abc import Iterator

import pytest
from page_in_node import NodePage


@pytest.fixture(scope="session")
def node() -> Iterator[NodePage]:
    """One process for all tests, started by the first that needs it."""
    page = NodePage()
    yield page
    page.close()


@pytest.fixture
def page(node: NodePage) -> NodePage:
    return node
