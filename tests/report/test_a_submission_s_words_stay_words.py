"""Whatever a submission wrote is shown as text: it opens no tag, link, cell, list or block, and moves no cursor."""

import io
import re
from xml.etree import ElementTree

import pytest
import sample_records as sample
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import UndefinedError
from markdown_it import MarkdownIt
from rich.console import Console

from harness.model import Counterexample, Outcome
from harness.report.escape import code, fenced, markdown, plain
from harness.report.jinja import environment
from harness.report.pages import render_all
from harness.report.views.board.scoreboard import scoreboard
from harness.report.views.inputs import ReportInputs
from tests.written import as_table, show

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])

HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "x | y | z |\n|--|--|--|\n| a | b | c |",
    "[click](javascript:alert(1)) ![x](http://evil.example/a.png) <http://evil.example>",
    "[1, 2](http://evil.example) [a][1] [^1]",
    "\n\n[1]: http://evil.example\n",
    "```\n# Owned\n```",
    "` `` ``` `x` ~~~",
    "# Overall 100",
    "1. first",
    "2)\tsecond",
    "- item",
    "* item\n* item",
    "> quote",
    "---",
    "===",
    "- - -",
    ":-|-:",
    "    indented",
    "**bold** __bold__ *it* _it_ ~~gone~~ $x$",
    "&lt;b&gt; &#60;b&#62; \\<b\\>",
    "ends with a backslash \\",
    "\x1b[2J\x1b]0;title\x07\x08\x9b31m",
    "\u202eright to left\u202c \u200bzero\u2028line\u2029paragraph\ufeff",
    "<!-- hidden -->",
    "{{ 7 * 7 }} {% raw %}",
    "a" * 20_000,
)
TOKENS = st.text("`|[]()<>!*_~#-+=:.\\$&;/ \n\t1aZé\x1b\u202e", max_size=60)
QUICK = settings(max_examples=200, derandomize=True, database=None, deadline=None)


FOLD = re.compile(r"<details>\n<summary>[^<>\n]*</summary>\n|</details>\n?")
"""The only HTML of a page."""


def structure(text: str) -> list[str]:
    """Kinds of all tokens of a Markdown text, in order; neighbouring texts are one, code among them."""
    kinds: list[str] = []
    for token in PARSER.parse(text):
        for part in (token, *(token.children or ())):
            kind = "text" if part.type == "code_inline" else part.type
            if kind != "text" or kinds[-1:] != ["text"]:
                kinds.append(kind)
    return kinds


def shown(text: str) -> str:
    """The words a reader sees of a Markdown text."""
    parts = (part for token in PARSER.parse(text) for part in token.children or ())
    marks = {"text": "{}", "text_special": "{}", "code_inline": "`{}`"}
    return "".join(marks[part.type].format(part.content) for part in parts if part.type in marks)


def spoken(words: str):
    """A record in which everything a submission can have a say in says `words`."""
    lost = {
        "outcome": Outcome.FAILED,
        "title": words,
        "detail": words,
        "measured": {"answer": words, words[:40]: 1.0},
        "counterexample": Counterexample(probe="p", case={"key": words}, where=words, expected=words, got=words),
        "diagnosis": sample.cause(words),
    }
    part = {"outcome": Outcome.PARTIAL, "fraction": 0.5, "detail": words, "measured": {"answer": words}}
    unrun = {"outcome": Outcome.NOT_RUN, "detail": words}
    good = {"outcome": Outcome.PASSED, "measured": {"answer": words}}
    outcomes = sample.RIGHT | {"first_token": good, "causality": lost, "shapes": part, "readability": unrun}
    return sample.record(outcomes=outcomes, remarks=(words,))


def pages(material: ReportInputs) -> dict[str, str]:
    return {name: text for name, text in render_all(material).items() if name.endswith(".md")}


@pytest.mark.parametrize("words", HOSTILE)
def test_the_picture_of_the_scoreboard_is_a_picture_whatever_a_challenge_is_called(words):
    def drawn(title):
        challenge = sample.CHALLENGE.model_copy(update={"title": title})
        return ElementTree.fromstring(render_all(ReportInputs([challenge], [sample.record()]))["scoreboard.svg"])

    assert [each.tag for each in drawn(words).iter()] == [each.tag for each in drawn("plain").iter()]


@pytest.mark.parametrize("words", HOSTILE)
def test_a_report_has_the_same_structure_whatever_is_said_in_it(words):
    plain_reports = render_all(ReportInputs([sample.CHALLENGE], [spoken("plain")]))
    for name, text in pages(ReportInputs([sample.CHALLENGE], [spoken(words)])).items():
        assert structure(text) == structure(plain_reports[name]), name
        assert "image" not in structure(text) and "html_inline" not in structure(text)
        for token in PARSER.parse(text):
            assert token.type != "html_block" or FOLD.fullmatch(token.content), token.content


@pytest.mark.parametrize("words", HOSTILE)
def test_a_build_failure_is_quoted_in_one_block(words):
    text = render_all(ReportInputs([sample.CHALLENGE], [sample.unbuilt(words)]))["kv_cache.md"]
    benign = render_all(ReportInputs([sample.CHALLENGE], [sample.unbuilt("plain")]))["kv_cache.md"]
    assert structure(text) == structure(benign)


@pytest.mark.parametrize("words", HOSTILE)
def test_our_own_error_is_quoted_in_one_block(words):
    text, benign = (
        render_all(ReportInputs([sample.CHALLENGE], [sample.record(status="judge_error", error=said)]))["kv_cache.md"]
        for said in (words, "plain")
    )
    assert structure(text) == structure(benign)


@QUICK
@given(TOKENS.filter(lambda t: plain(t)))
def test_any_text_stays_one_text_at_the_start_of_a_line_in_a_list_and_in_a_table(words):
    for frame in ("{}", "* {}", "1. **x** {}", "| a | b |\n|--|--|\n| {} | c |", "> {}"):
        assert structure(frame.format(markdown(words))) == structure(frame.format("plain"))
        assert structure(frame.format(code(words))) == structure(frame.format("`plain`"))
        assert shown(code(words)).startswith("`")


@QUICK
@given(TOKENS)
def test_a_fence_ends_where_we_end_it(words):
    assert structure(f"{fenced(words)}\n\nafter") == ["fence", "paragraph_open", "inline", "text", "paragraph_close"]


@QUICK
@given(TOKENS)
def test_the_reader_sees_the_words_themselves(words):
    # a bar would end the cell of a table even in code
    assert shown(markdown(words)).replace("¦", "|") == plain(words).replace("¦", "|")


def test_no_bracket_of_a_tag_survives_even_alone():
    assert str(markdown("a < b > c & d")) == "a &lt; b &gt; c &amp; d"


def test_readable_text_is_left_readable():
    assert str(markdown("out[0, 3, 1] of kv_cache is 1.5 - 2 (at B = 1)")) == (
        "out[0, 3, 1] of kv_cache is 1.5 - 2 (at B = 1)"
    )


def test_nothing_printed_moves_the_cursor_or_reorders_the_line():
    for words in HOSTILE:
        record = spoken(words)
        out = io.StringIO()
        console = Console(file=out, width=120, force_terminal=False)
        console.print(show(sample.CHALLENGE, record))
        console.print(as_table(scoreboard(ReportInputs([sample.CHALLENGE], [record]))))
        text = out.getvalue() + "".join(render_all(ReportInputs([sample.CHALLENGE], [record])).values())
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]", text)


def test_long_words_are_clipped_and_the_rest_is_left_to_the_record():
    text = "".join(pages(ReportInputs([sample.CHALLENGE], [spoken("a" * 20_000)])).values())
    assert "…" in text
    assert len(text) < 30_000


def test_an_undefined_value_is_an_error_and_not_an_empty_text():

    with pytest.raises(UndefinedError):
        environment().from_string("{{ report.nothing }}").render(report=sample.CHALLENGE)
