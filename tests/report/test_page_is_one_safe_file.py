"""The page is one file: it fetches nothing, runs nothing but its own script, and what others wrote in it stays text."""

import base64
import hashlib
import json
import re

import pytest
import sample_records as sample
from page_reader import Element, read
from test_a_submission_s_words_stay_words import HOSTILE, spoken

from harness.model import Location, Mark, Quote, Review, Reviewer
from harness.report.escape import LIMIT
from harness.report.views.inputs import ReportInputs
from harness.report.writers.page import page

MARK = "<script>alert(1)</script>"


def review(words: str, model: str = "glm-5") -> Review:
    mark = Mark(target="correctness", mark=50, remark=words, quotes=(Quote(file="a.py", text=words),))
    reviewer = Reviewer(kind="person", id="someone", date="2026-04")
    given = Review(model="glm-5", challenge="kv_cache", reviewer=reviewer, marks=(mark,))
    return given.model_copy(update={"model": model})


def said(words: str, model: str = "glm-5") -> str:
    """A page on which everything that others write says `words`: records, reviews, code and, of models, the name."""
    record = spoken(words).model_copy(update={"model": model})
    record = sample.changed(record, "causality", detail=words, locations=Location.within("answer.py", 2))
    line = words.replace("\n", " ")
    sources = {record.name: {"answer.py": f"{line}\n{line}\n{line}"}}
    broken = sample.unbuilt(words)
    return page(ReportInputs([sample.CHALLENGE], [record, broken], [review(words, model)], sources=sources))


def structure(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """Tags and names of attributes, in order; what words quote between backticks is bare code, and no other element."""
    return [(e.tag, tuple(e.attributes)) for e in read(text).all() if (e.tag, e.attributes) != ("code", {})]


@pytest.fixture(scope="module")
def tree() -> Element:
    return read(said("plain"))


def test_nothing_is_fetched(tree):
    for element in tree.all():
        assert not {"src", "srcset", "action", "formaction", "data", "background", "poster"} & set(element.attributes)
        assert element.tag not in ("link", "iframe", "object", "embed", "base", "img", "image", "form")
        if "href" in element.attributes:
            assert element.attributes["href"].startswith("#")
    style = tree.one("style").text
    assert "url(" not in style and "@import" not in style


def test_only_our_own_style_and_script_may_run(tree):
    policy = tree.one("meta", **{"http-equiv": "Content-Security-Policy"}).attributes["content"]
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    for tag, element in (("style", tree.one("style")), ("script", tree.all("script")[-1])):
        (text,) = element.children
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    data, _ = tree.all("script")
    assert data.attributes["type"] == "application/json"
    for element in tree.all():
        assert not [name for name in element.attributes if name == "style" or name.startswith("on")]


def test_every_id_is_given_once_and_every_link_leads_to_one(tree):
    ids = [e.attributes["id"] for e in tree.all() if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    for element in tree.all():
        if "href" in element.attributes:
            assert element.attributes["href"][1:] in ids
        for name in ("aria-labelledby", "for"):
            assert set(element.attributes.get(name, "").split()) <= set(ids)


@pytest.mark.parametrize("words", HOSTILE)
def test_the_page_has_the_same_elements_whatever_is_said_in_it(words, plain_structure):
    assert structure(said(words)) == plain_structure


@pytest.fixture(scope="module")
def plain_structure():
    return structure(said("plain"))


def test_nothing_hides_behind_control_or_format_characters():
    for words in HOSTILE:
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]", said(words))


def test_words_of_findings_code_and_reviews_are_shown_as_they_are():
    tree = read(said(MARK))
    assert tree.all("li", id="glm-5/kv_cache/finding:1")[0].text.count(MARK) >= 4
    assert MARK in tree.all("pre")[0].text
    assert tree.one("q").text == MARK


@pytest.mark.parametrize("name", [MARK, '"><script>alert(1)</script>', "a' onmouseover='alert(1)", "</script>", "-->"])
def test_a_model_s_name_is_text_in_tables_drawings_attributes_and_data(name):
    """Such a name is refused long before; the page does not rely on it."""
    text = said("plain", name)
    tree = read(text)
    assert len(tree.all("script")) == 2 and text.count("<script") == 2
    assert name in tree.one("table", id="board").text
    assert any(name[:20] in e.text for e in tree.all("svg"))
    assert name in json.loads(tree.one("script", id="marks").text)["names"]


def test_a_title_cannot_end_the_data():
    challenge = sample.CHALLENGE.model_copy(update={"title": "</script><script>alert(1)//<!--"})
    tree = read(page(ReportInputs([challenge], [sample.record()])))
    data = json.loads(tree.one("script", id="marks").text)
    assert data["challenges"]["kv_cache"]["title"] == challenge.title


def test_long_words_are_clipped_wherever_they_stand():
    tree = read(said("longword" * 2_500))
    runs = re.findall(r"(?:longword)+\w*", tree.one("main").text)
    assert len(runs) > 10 and max(map(len, runs)) <= LIMIT
    assert "…" in tree.one("main").text
