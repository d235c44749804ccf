"""The Chinese pages say what the English ones say: the same code, tables, headings, links, pictures and numbers."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAIRS = {"README.md": "README.zh-CN.md", "docs/lineage.md": "docs/lineage.zh-CN.md"}
ONLY_CHINESE = {"docs/glossary.md"}  # it has the Chinese terms
HAN = re.compile(r"[\u4e00-\u9fff]")
over_pairs = pytest.mark.parametrize(("english", "chinese"), PAIRS.items(), ids=PAIRS)


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(text):
    """The blocks of code, with the language that each is marked with."""
    return re.findall(r"^```.*?^```$", text, re.MULTILINE | re.DOTALL)


def prose(text):
    """The text without the blocks of code."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def sections(text):
    """The parts that begin with a heading of the second level, and what stands before the first."""
    return re.split(r"^## .*\n", prose(text), flags=re.MULTILINE)


def links(text):
    """Where a page leads, without the place on the other page, and to the English page where there are two."""
    found = re.findall(r"\]\(([^)\s#]*)[^)]*\)|(?:src|srcset)=\"([^\"]+)\"", text)
    pages = ("".join(pair).replace(".zh-CN.md", ".md") for pair in found)
    return sorted(page for page in pages if page not in ONLY_CHINESE)


def spans(text):
    """The code within sentences and tables."""
    return sorted(re.findall(r"`[^`\n]+`", text))


@over_pairs
def test_code_is_the_same_block_by_block(english, chinese):
    assert blocks(text_of(english)) == blocks(text_of(chinese)) != []


@over_pairs
def test_headings_tables_and_pictures_have_their_counterparts(english, chinese):
    pages = [prose(text_of(name)) for name in (english, chinese)]
    for shape in (r"^# ", r"^## ", r"^\|.*\|$", r"^- ", r"^!\["):
        counts = [len(re.findall(shape, page, re.MULTILINE)) for page in pages]
        assert counts[0] == counts[1], shape
    cells = [[line.count("|") for line in page.splitlines() if line.startswith("|")] for page in pages]
    assert cells[0] == cells[1]


@over_pairs
def test_links_lead_to_the_same_pages_and_each_page_leads_to_the_other(english, chinese):
    pages = [text_of(name) for name in (english, chinese)]
    own = Path(english).name  # each page links once to its other language
    assert Path(chinese).name in pages[0].splitlines()[2]
    assert own in pages[1].splitlines()[2]
    assert links(pages[0]) == links(pages[1])


def numbers(text):
    """The numbers of a text, without those in addresses and in code."""
    return sorted(re.findall(r"\d[\d,.]*\d|\d", re.sub(r"\]\([^)]*\)|`[^`]*`", "", text)))


@over_pairs
def test_numbers_and_code_in_sentences_are_the_same_section_by_section(english, chinese):
    for ours, theirs in zip(*(sections(text_of(name)) for name in (english, chinese)), strict=True):
        assert numbers(ours) == numbers(theirs)
        assert set(spans(ours)) <= set(spans(theirs))


@over_pairs
def test_chinese_page_is_chinese_and_set_as_chinese_is(english, chinese):
    text = re.sub(r"`[^`]*`|\]\([^)]*\)", "", prose(text_of(chinese)))
    paragraphs = [part for part in text.split("\n\n") if len(part) > 60 and not part.startswith(("<", "|", "!["))]
    assert all(len(HAN.findall(part)) > len(part) / 3 for part in paragraphs)
    assert not re.search(r"[\u4e00-\u9fff][,;:!?]", text), "punctuation of full width belongs here"


def test_each_term_of_the_glossary_has_its_chinese():
    table = text_of("docs/glossary.md").split("\n## ")[1]
    rows = [line.rstrip(" |").rpartition(" | ")[2] for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 120
    assert [row for row in rows if not HAN.search(row)] == []
