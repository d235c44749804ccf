"""Points of one's own: how rows are read (the page's module, in Node), and the program that trains on them."""

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SITE = Path(__file__).parent.parent.parent / "site"
sys.path.insert(0, str(SITE / "live"))

from lab import go, start  # noqa: E402
from lab.data import OWN  # noqa: E402

needs_node = pytest.mark.skipif(not shutil.which("node"), reason="no Node: apt install nodejs")
PROGRAM = (SITE / "live" / "training" / "own.py").read_text(encoding="utf-8")


def in_node(script, given=""):
    """What an expression over the module `own` gives, as JSON; `given` is a text in it."""
    code = f"import * as own from {json.dumps((SITE / 'live' / 'own.js').as_uri())};"
    code += f"const given = {json.dumps(given)}; console.log(JSON.stringify({script}))"
    done = subprocess.run(["node", "--input-type=module", "-e", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def parsed(text):
    return in_node("own.parsed(given)", text)


ROWS = [[0.5, -1.2, 0], [1, 2, 1]]


@needs_node
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0.5, -1.2, cat\n1, 2, dog", "separated by commas, without a header. x is column 1, y is column 2, and"),
        (
            "x,y,label\n0.5,-1.2,cat\n1,2,dog\n",
            "commas, with a header. x is x, y is y, and the class is label",
        ),
        ("0,5;-1,2;cat\r\n1;2;dog", "semicolons, without"),
        ("0.5\t\u22121.2\tcat\n1\t2\tdog", "tabs, without"),
        ("  0.5 -1.2  cat\n1 2 dog", "spaces, without"),
        ("kind,a,b\ncat,5e-1,-1.2\ndog,1.0,2.\n", "x is a, y is b, and the class is kind: cat, dog."),
        ('0.5,-1.2,"a, b"\n1,2,dog', "a, b, dog."),
        ("id;more;width;height;kind\nq;1;2;3;cat\nr;4;5;6;dog", "x is more, y is width, and the class is kind"),
    ],
)
def test_separators_headers_and_columns_are_guessed_and_said(text, said):
    found = parsed(text)
    assert said in found["about"]
    assert found["bad"] == []
    assert len(found["rows"]) == 2
    if "id;" not in text:
        assert found["rows"] == ROWS


FILES = {  # as programs write them: each is ROWS
    "separators at line ends": "0.5,-1.2,cat,\n1,2,dog,\n",
    "separators at line ends, below a header without": "x,y,kind\n0.5,-1.2,cat,\n1,2,dog,\n",
    "empty columns at the right": "x;y;kind;;;\n0,5;-1,2;cat;;;\n1;2;dog;;;\n;;;;;\n",
    "empty columns with names": "x,y,kind,notes,more\n0.5,-1.2,cat,,\n1,2,dog,,\n",
    "an empty column at the left": ",x,y,kind\n,0.5,-1.2,cat\n,1,2,dog\n",
    "quoted decimal commas": '"0,5","-1,2","cat"\n"1","2","dog"\n',
    "quoted decimal commas below a header": '"x","y","kind"\n"0,5","-1,2",cat\n"1,0","2,0",dog\n',
    "decimal commas between spaces": "0,5 -1,2 cat\n1 2 dog\n",
    "comments": "# made today, by me\n# units: cm, cm\n0.5,-1.2,cat\n# half\n1,2,dog\n# end\n",
    "a header behind #": "# x y kind\n0.5 -1.2 cat\n1 2 dog\n",
    "a comment, and a header behind #": "# made today\n#x,y,kind\n0.5,-1.2,cat\n1,2,dog\n",
    "a title line of counts": "2,2,cat,dog\n0.5,-1.2,0\n1.0,2,1\n",
    "a first column that counts rows": "0,0.5,-1.2,cat\n1,1,2,dog\n2,9e9,oops,dog\n",
    "the index of pandas": ",x,y,kind\n0,0.5,-1.2,cat\n1,1,2,dog\n",
    "the index of a part of a table": ",x,y,kind\n7,0.5,-1.2,cat\n3,1,2,dog\n",
    "row names of R": '"x" "y" "kind"\n"1" 0.5 -1.2 "cat"\n"2" 1 2 "dog"\n',
    "ids": "Id,x,y,kind\n17,0.5,-1.2,cat\n12,1,2,dog\n",
    "the class first": "cat,0.5,-1.2\ndog,1,2\n",
    "the class between": "x,kind,y\n0.5,cat,-1.2\n1,dog,2\n",
    "a name beside the class": "who,kind,x,y\nTom,cat,0.5,-1.2\nRex,dog,1,2\nPip,cat,q,2\n",
    "a mark of the byte order": "\ufeffx,y,kind\n0.5,-1.2,cat\n1,2,dog\n",
    "a break in a field": '"0.5","-1.2","cat"\n1,2,dog\n"9","oops","a\nb"\n',
    "line ends of a Mac": "x,y,kind\r0.5,-1.2,cat\r1,2,dog\r",
}


@needs_node
@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_files_are_read_as_programs_write_them(text):
    found = parsed(text)
    assert (found.get("rows"), found.get("names")) == (ROWS, ["cat", "dog"]), found


@needs_node
@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["0,125", "1,5"], [0.125, 1.5]),
        (["1,234.5", "1,234", "7"], [1234.5, 1234, 7]),
        (["1.234,5", "1.234", "7"], [1234.5, 1234, 7]),
        (["1,234,567", "1,234"], [1234567, 1234]),
        (["1.234.567", "7,5"], [1234567, 7.5]),
        (["1,5", "1.5"], [1.5, 1.5]),
        (["+.5", "-2.", "\u22121e-3"], [0.5, -2, -0.001]),
    ],
)
def test_point_and_comma_are_what_the_whole_column_says(texts, numbers):
    found = parsed("".join(f'"{text}";{k * k};cat\n' for k, text in enumerate(texts)))
    assert [x for x, _, _ in found["rows"]] == numbers


@needs_node
def test_files_of_scikit_learn_have_the_names_of_their_classes():
    rows = [[5.1, 3.5, 1.4, 0.2, 0], [7.0, 3.2, 4.7, 1.4, 1], [6.3, 3.3, 6.0, 2.5, 2]]
    text = "3,4,setosa,versicolor,virginica\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
    found = parsed(text)
    assert found["names"] == ["setosa", "versicolor", "virginica"]
    assert found["rows"] == [[5.1, 3.5, 0], [7.0, 3.2, 1], [6.3, 3.3, 2]]
    assert found["bad"] == []
    found = parsed("3,30,malignant,benign\n" + f"{'1.5,' * 30}0\n{'2.5,' * 30}1\n{'0.5,' * 30}1\n")
    assert found["names"] == ["malignant", "benign"]


@needs_node
@pytest.mark.parametrize("column", range(3))
def test_class_that_is_a_number_is_found_by_its_name_or_by_its_few_values_at_an_end(column):
    rows = [[1, 14.23, 1.71], [1, 13.2, 1.78], [2, 12.37, 0.94], [3, 12.86, 1.35]]
    turned = [[*row[1 : column + 1], row[0], *row[column + 1 :]] for row in rows]
    header = ["a", "b"]
    header.insert(column, "class")
    lines = [*([header] if column == 1 else []), *turned]
    found = parsed("\n".join(",".join(map(str, row)) for row in lines))
    assert found["names"] == ["1", "2", "3"]
    assert found["given"]["label"] == column
    assert [row[:2] for row in found["rows"]] == [row[1:] for row in rows]


@needs_node
def test_columns_are_chosen_and_said_with_their_names():
    text = "a,b,kind,c,sort\n1,2,cat,3,old\n4,5,dog,6,new"
    found = in_node("own.parsed(given, {x: 3, y: 0, label: 2})", text)
    assert found["rows"] == [[3, 1, 0], [6, 4, 1]]
    assert (found["columns"], found["axes"]) == (["a", "b", "kind", "c", "sort"], ["c", "a"])
    assert "x is c, y is a, and the class is kind: cat, dog." in found["about"]
    assert in_node("own.parsed(given, {label: 0})", text)["rows"] == [[2, 3, 0], [5, 6, 1]]


@needs_node
@pytest.mark.parametrize("error", ["#N/A", "#DIV/0!", "#NAME?"])
def test_values_that_a_spreadsheet_could_not_compute_are_listed(error):
    found = parsed(f"x,y,kind\n{error},1,a\n1,{error},b\n1,2,{error}\n{error},{error},{error}\n3,4,a\n5,6,b\n#7,8,a")
    assert found["rows"] == [[3, 4, 0], [5, 6, 1]]
    no_number = f"\u2018{error}\u2019 is no number"
    assert found["bad"] == [
        {"line": 2, "why": no_number},
        {"line": 3, "why": no_number},
        {"line": 4, "why": "the class is missing"},
        {"line": 5, "why": no_number},
        {"line": 8, "why": "\u2018#7\u2019 is no number"},
    ]


@needs_node
def test_sign_in_data_is_no_comment():
    assert parsed("1,2,#1\n3,4,#2")["names"] == ["#1", "#2"]
    assert parsed("kind,x,y\n#1,1,2\n#2,3,4\n#1,5,6")["rows"] == [[1, 2, 0], [3, 4, 1], [5, 6, 0]]
    assert parsed('1,2,5" pipe\n3,4,dog')["names"] == ['5" pipe', "dog"]
    assert parsed('1,2,"say ""a"", b"\n3,4,dog')["names"] == ['say "a", b', "dog"]


@needs_node
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('[{"x": 0.5, "y": -1.2, "kind": "cat"}]', "JSON"),
        ('{"x": [0.5, 1],\n "y": [-1.2, 2]}', "JSON"),
        ('{"x": 0.5, "y": 1, "kind": "cat"}\n{"x": 1, "y": 2, "kind": "dog"}', "JSON"),
        ("[[0.5, -1.2, 0],\n [1, 2, 1]]", "JSON"),
        ("PK\x03\x04\x14,1,2", "a spreadsheet"),
        ("<!doctype html>\n<table>1,2,3", "HTML"),
    ],
)
def test_file_that_is_no_table_is_refused_by_name(text, name):
    error = parsed(text)["error"]
    assert error.startswith(f"This is {name}")
    assert error.endswith("save it as CSV first.")


@needs_node
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-16-le", "utf-16-be"])
def test_files_of_every_usual_encoding_are_read(encoding):
    text = "x,y,fa\u00e7on\n0.5,-1.2,\u00e9t\u00e9\n1,2,na\u00efve\n"
    script = "own.parsed(own.decoded(Uint8Array.from(JSON.parse(given)).buffer))"
    found = in_node(script, json.dumps([*text.encode(encoding)]))
    assert (found["rows"], found["names"]) == (ROWS, ["\u00e9t\u00e9", "na\u00efve"])
    assert "the class is fa\u00e7on" in found["about"]


@needs_node
def test_names_of_the_axes_stand_in_the_program():
    script = (
        "(() => { const was = own.held(given), found = own.parsed('width (cm),a,kind\\n1,2,cat\\n3,4,dog');"
        "const text = given.slice(0, was.from) + own.block({...was, ...found}) + given.slice(was.to);"
        "return [was.axes, text, own.held(text).axes] })()"
    )
    before, text, axes = in_node(script, PROGRAM)
    assert (before, axes) == (["x", "y"], ["width (cm)", "a"])
    assert "ROWS = [  # width (cm), a, number of the class\n    (1, 2, 0),\n" in text


@needs_node
def test_classes_are_words_or_numbers():
    assert parsed("0,0,10\n0,1,9.0\n1,1,9\n")["names"] == ["9", "10"]
    assert parsed("0,0,yes\n0,1,no")["names"] == ["yes", "no"]


@needs_node
def test_every_line_is_a_row_or_is_named_with_what_is_wrong():
    found = parsed("x,y,label\n1,2,a\n1,2\n\n1,two,a\n3,4,\n1e999,2,b\n5,6,b")
    assert found["rows"] == [[1, 2, 0], [5, 6, 1]]
    assert [row["line"] for row in found["bad"]] == [3, 5, 6, 7]
    assert [row["why"] for row in found["bad"]] == [
        "found 2 of 3 fields",
        "\u2018two\u2019 is no number",
        "the class is missing",
        "\u20181e999\u2019 is no number",
    ]
    assert in_node("own.listed(own.parsed(given).bad)", "1,2,a\n1,2\n3,4,b") == (
        "Left out: line 2 (found 2 of 3 fields)."
    )


@needs_node
def test_sixth_class_and_row_2001_are_left_out_by_name():
    found = parsed("\n".join(f"{k},{k},{'abcdefg'[k % 7 if k < 12 else k % 5]}" for k in range(2100)))
    assert found["names"] == ["a", "b", "c", "d", "e"]
    assert len(found["rows"]) == 2000
    assert len(found["rows"]) + len(found["bad"]) == 2100
    assert found["bad"][0] == {"line": 6, "why": "\u2018f\u2019 is one class too many: 5 can be learnt here"}
    assert "row 2001 or later" in found["bad"][-1]["why"]


@needs_node
@pytest.mark.parametrize("text", ["", "# nothing\n\n", "1,2\n3,4", "cat,dog,mouse\nx,y,z", "one line"])
def test_points_without_rows_say_what_a_row_is(text):
    assert "such as 0.5, -1.2, cat" in parsed(text)["error"]


@needs_node
def test_rows_are_put_into_the_program_and_read_back_from_it():
    rows, names = [[0.1, -2e-7, 0], [3, 4, 1]], ['a "word"', "\u00e9"]
    script = (
        "(found => { const own_ = own.held(given), next = {...own_, ...found, ...own.scale(found.rows)};"
        "const text = given.slice(0, own_.from) + own.block(next) + given.slice(own_.to);"
        "return [text, own.held(text)] })"
    )
    text, found = in_node(f"{script}({json.dumps({'rows': rows, 'names': names})})", PROGRAM)
    assert (found["rows"], found["names"]) == (rows, names)
    space = {}
    exec(compile(text.partition("HELD_OUT")[0], "program", "exec"), space)
    assert ([list(row) for row in space["ROWS"]], space["CLASSES"]) == (rows, names)
    assert in_node("own.held(given)", text.replace("(3, 4, 1)", "(3, 4, ")) is None


@needs_node
@pytest.mark.parametrize("far", [1, 1e-3, 1e6])
def test_rows_of_any_size_are_scaled_into_the_picture(far):
    rng = random.Random(1)
    rows = [[rng.gauss(5 * far, far), rng.gauss(0, far), 0] for _ in range(50)]
    found = in_node(f"own.scaled({{rows: {json.dumps(rows)}, ...own.scale({json.dumps(rows)})}})")
    assert max(abs(x) for place, _ in found for x in place) == pytest.approx(1.4, rel=0.01)
    near = [[0.3, -1.5, 0], [0.1, 0.2, 1]]
    assert in_node(f"own.scale({json.dumps(near)})") == {"middle": [0, 0], "reach": [1, 1]}


# ------------------------------------------------------------------------------------------------ the program
def program(n=40, **changes):
    rng = random.Random(0)
    rows = "".join(f"    ({rng.gauss(k % 2, 0.2):.3f}, {rng.gauss(k % 2, 0.2):.3f}, {k % 2}),\n" for k in range(n))
    text = PROGRAM.replace("number of the class\n", f"number of the class\n{rows}")
    for name, value in changes.items():
        text = text.replace(name, value)
    return text


def test_page_trains_on_the_points_of_the_text_and_holds_some_out():
    about = json.loads(start(program(), OWN, 0.1, 1))
    assert (len(about["points"]), len(about["held_out"])) == (28, 12)
    assert json.loads(start(program(), OWN, 0.9, 5))["held_out"] == about["held_out"]  # the text's seed draws them
    losses = json.loads(go(10_000, 20, 60))["losses"]
    assert losses[-1] < losses[0] / 2


def test_program_runs_elsewhere_and_learns(tmp_path):
    text = program(**{"range(1001)": "range(201)"})  # a fifth of the steps is enough for these points
    (tmp_path / "mine.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "mine.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300,
        env={"PYTHONPATH": str(SITE.parent)}, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1].endswith("right 28 of 28, held out 12 of 12")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (program(0), "there are no points to train on: click in the picture"),
        (program() + "del points\n", "the page needs your 'points', a list such as"),
        (program().replace("0),", "7),"), "IndexError"),
    ],
)
def test_program_without_good_points_says_so(text, words):
    answer = json.loads(start(text, OWN, 0.1, 1))
    answer = answer if answer.get("error") else json.loads(go(0, 20, 1))
    assert words in answer["error"]["text"]


def test_made_points_come_in_any_number_and_half_as_many_are_held_out():
    text = (SITE / "live" / "training" / "sign.py").read_text(encoding="utf-8")
    about = json.loads(start(text, "moons", 0.1, 1, 40))
    assert (len(about["points"]), len(about["held_out"])) == (40, 20)
    assert not {tuple(x) for x, _ in about["points"]} & {tuple(x) for x, _ in about["held_out"]}
