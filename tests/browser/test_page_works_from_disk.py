"""In a real browser, opened from disk, the page sorts, filters, compares, unfolds, prints, and complains of nothing."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from chromium import Tab

from harness.model import Location, Provenance, Record
from harness.report import formatting
from harness.report.views.inputs import ReportInputs, gather
from harness.report.writers.page import page
from harness.workspace import Workspace

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
SCRIPT = "<script>window.owned = 1</script><img src=x onerror='window.owned = 2'>"


@pytest.fixture(scope="module")
def material() -> ReportInputs:
    return gather(Workspace(ROOT))


@pytest.fixture(scope="module")
def bundled(material: ReportInputs, place: Path) -> Path:
    path = place / "index.html"
    path.write_text(page(material), encoding="utf-8")
    return path


@pytest.fixture
def opened(tab: Tab, bundled: Path) -> Tab:
    tab.open(bundled)
    return tab


def column(tab: Tab, name: str) -> int:
    """Number of a column of the scoreboard, from 1 on, as CSS counts."""
    heads = tab.run("[...document.querySelectorAll('#board thead th')].map((th) => th.textContent)")
    return int(heads.index(name)) + 1


def models(tab: Tab) -> list[str]:
    """Models on the scoreboard, top to bottom, as far as they are shown."""
    return list(
        tab.run("[...document.querySelectorAll('#board tbody tr:not([hidden])')].map((row) => row.dataset.model)")
    )


def head(tab: Tab, name: str) -> str:
    return f"#board thead th:nth-child({column(tab, name)}) button"


def best_first(records: list[Record], shown: list[str]) -> dict[str, float]:
    """Return marks by model, equal ones in the order in which the page has `shown` them, which a click keeps."""
    ordered = sorted(records, key=lambda r: (-(r.overall.score or 0), shown.index(r.model)))
    return {r.model: r.overall.score or 0 for r in ordered}


def test_it_opens_without_complaint_and_asks_for_nothing_else(opened: Tab, bundled: Path) -> None:
    assert opened.run("document.querySelectorAll('#board tbody tr').length") > 0
    assert opened.complaints == []
    assert opened.requests == [bundled.as_uri()]


def test_a_click_sorts_and_another_turns_the_order(opened: Tab, material: ReportInputs) -> None:
    """Models without a mark come last, whichever way."""
    title = next(c.title for c in material.challenges if c.id == "kv_cache")
    wanted, shown = (
        best_first([r for r in material.records if r.challenge == "kv_cache"], models(opened)),
        models(opened),
    )
    without = [model for model in shown if model not in wanted]
    opened.click(head(opened, title))
    assert models(opened) == [*wanted, *without]
    assert (
        opened.run(f"document.querySelector({json.dumps(head(opened, title))}).parentElement.ariaSort") == "descending"
    )
    opened.click(head(opened, title))
    assert models(opened) == [*sorted(wanted, key=wanted.__getitem__), *without]
    opened.click(head(opened, "Model"))
    assert models(opened) == sorted(shown)
    assert opened.run("document.querySelectorAll('#board [aria-sort]').length") == 1


def test_what_has_no_rank_comes_last_whichever_way(opened: Tab, material: ReportInputs) -> None:
    ours = {r.model for r in material.records if r.provenance is Provenance.BASELINE}
    for _ in range(2):
        opened.click(head(opened, "Rank"))
        assert set(models(opened)[-len(ours) :]) == ours


def test_the_keyboard_is_enough(opened: Tab) -> None:
    opened.press("Tab")
    assert opened.run("document.activeElement.className") == "skip"
    opened.press("Enter")
    assert opened.run("document.activeElement.id") == "main"
    opened.run(f"document.querySelector({json.dumps(head(opened, 'Model'))}).focus()")
    before = models(opened)
    opened.press("Enter")
    assert models(opened) == sorted(before)
    assert opened.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    opened.press(" ")
    assert models(opened) == sorted(before, reverse=True)


def test_no_key_is_caught(opened: Tab) -> None:
    seen = []
    for _ in range(25):
        opened.press("Tab")
        seen.append(opened.run("document.activeElement.outerHTML.slice(0, 300)"))
    assert len(set(seen)) > 20


def test_filters_hold_for_the_whole_page(opened: Tab, material: ReportInputs) -> None:
    opened.run("document.getElementById('filter-text').focus()")
    opened.write("QWEN")
    shown = models(opened)
    assert shown and all("qwen" in model for model in shown)
    assert opened.run("document.getElementById('filter-count').textContent").startswith(f"{len(shown)} of ")
    open_ones = opened.run("[...document.querySelectorAll('details.submission:not([hidden])')].map((d) => d.id)")
    assert sorted(open_ones) == sorted(r.name for r in material.records if r.model in shown)


def test_filters_by_provenance_and_challenge(opened: Tab, material: ReportInputs) -> None:
    opened.run(_choice("filter-provenance", formatting.provenance(Provenance.BASELINE)))
    assert set(models(opened)) == {r.model for r in material.records if r.provenance is Provenance.BASELINE}
    opened.run(_choice("filter-challenge", "kv_cache"))
    visible = "[...document.querySelectorAll('[data-challenge]')].filter((e) => e.checkVisibility())"
    assert opened.run(f"[...new Set({visible}.map((e) => e.dataset.challenge))]") == ["kv_cache"]


def _choice(id: str, value: str) -> str:
    field = f"document.getElementById({json.dumps(id)})"
    return f"{field}.value = {json.dumps(value)}; {field}.dispatchEvent(new Event('input'))"


def test_two_models_are_compared_by_their_records(opened: Tab, material: ReportInputs) -> None:
    left, right = "minimax-m2.7", "baseline"
    opened.run(_choice("compare-left", left) + ";" + _choice("compare-right", right))
    tables = opened.run(
        "[...document.querySelectorAll('#compared table')].map((t) =>"
        " [...t.tBodies[0].rows].map((r) => [...r.cells].map((c) => c.textContent)))"
    )
    by_name = {r.name: r for r in material.records}
    answered = sorted({r.challenge for r in material.records if r.model in (left, right)})
    for challenge, rows in zip(answered, tables, strict=True):
        found = [by_name.get(f"{model}/{challenge}") for model in (left, right)]
        assert rows[0][0] == "Overall"
        assert rows[0][2:4] == [formatting.standing(r.overall) if r else "no record" for r in found]
        if None in found:
            continue
        one, other = (r.overall for r in found if r)
        lead = one.score - other.score
        assert rows[0][4].startswith(f"{lead:+g}")
    assert opened.run("document.querySelectorAll('#compared .whisker').length") > 0
    assert opened.complaints == []


def test_two_records_of_one_model_are_compared(tab: Tab, material: ReportInputs, place: Path) -> None:
    """An earlier grade has no evidence on the page, so nothing leads there, and only what both have is shown."""
    now = next(r for r in material.records if r.name == "glm-5/kv_cache")
    worse = now.overall.model_copy(update={"score": 10.0, "low": 5.0, "high": 20.0})
    before = now.model_copy(update={"overall": worse, "key": "before"})
    path = place / "earlier.html"
    path.write_text(page(replace(material, earlier=(before,))), encoding="utf-8")
    tab.open(path)
    names = tab.run("[...document.querySelectorAll('#compare-left optgroup[label=glm-5] option')].map((o) => o.value)")
    assert names == ["glm-5", f"glm-5/kv_cache, {now.made:%Y-%m-%d %H:%M}, harness {now.environment.harness}"]
    tab.run(_choice("compare-left", names[1]) + ";" + _choice("compare-right", "glm-5"))
    (row,) = tab.run(
        "[...document.querySelectorAll('#compared table')].map((t) => [...t.tBodies[0].rows][0].innerText)"
    )
    assert "10 [5, 20]," in row and formatting.standing(now.overall) in row
    cells = "[...document.querySelectorAll('#compared tbody tr:first-child td')].slice(1, 3)"
    assert tab.run(f"{cells}.map((cell) => cell.querySelector('a') !== null)") == [False, True]
    assert tab.complaints == []


def chooser(tab: Tab, table: str) -> str:
    """Unfold what chooses the columns of a table, and return it as an expression."""
    found = f"document.querySelector({json.dumps(table)}).parentElement.previousElementSibling"
    tab.run(f"{found}.open = true")
    while not tab.run(f"!!{found}.querySelector('input')"):  # filled by an event, which comes a moment later
        time.sleep(0.01)
    return found


def seen(tab: Tab, table: str) -> list[list[str]]:
    """Rows of a table as far as they are shown, each with the cells that are."""
    rows = f"[...document.querySelector({json.dumps(table)}).rows].filter((r) => r.checkVisibility())"
    cells = "[...r.cells].filter((c) => c.checkVisibility()).map((c) => c.textContent)"
    return list(tab.run(f"{rows}.map((r) => {cells})"))


def test_a_reader_chooses_the_columns_of_the_board(opened: Tab, material: ReportInputs) -> None:
    """A filter leaves the choice alone."""
    whole = seen(opened, "#board")
    title = next(c.title for c in material.challenges if c.id == "kv_cache")
    labels = f"[...{chooser(opened, '#board')}.querySelectorAll('label')]"
    box = f"{labels}.find((label) => label.textContent === {json.dumps(title)}).querySelector('input')"
    opened.run(f"{box}.click(); {_choice('filter-challenge', '')}")
    at = whole[0].index(title)
    assert seen(opened, "#board") == [row[:at] + row[at + 1 :] for row in whole]
    opened.run(f"{box}.click()")
    assert seen(opened, "#board") == whole
    assert opened.complaints == []


def test_a_reader_chooses_models_and_criteria_of_a_challenge(opened: Tab) -> None:
    whole, choice = seen(opened, "table.matrix"), chooser(opened, "table.matrix")
    opened.run(f"{choice}.querySelector('input').click()")
    assert seen(opened, "table.matrix") == [row[:1] + row[2:] for row in whole]
    opened.run(f"{choice}.querySelector('input').click()")
    criteria = [row for row in whole if row[0].endswith((" critical", " major", " minor"))]
    kept = {
        "critical ones": [row for row in criteria if row[0].endswith(" critical")],
        "those that differ": [row for row in criteria if len(set(row[1:])) > 1],
        "all criteria": criteria,
    }
    for kind, rows in kept.items():
        select = f"{choice}.querySelector('select')"
        opened.run(f"{select}.value = {json.dumps(kind)}; {select}.dispatchEvent(new Event('input'))")
        shown = seen(opened, "table.matrix")
        assert [row for row in shown if row in criteria] == rows
        assert [row for row in shown if row not in criteria] == [row for row in whole if row not in criteria]
    assert opened.complaints == []


def test_a_mark_leads_to_its_evidence_and_unfolds_it(opened: Tab) -> None:
    opened.click("td a[href='#glm-5/kv_cache/correctness/causality']")
    target = "document.getElementById('glm-5/kv_cache/correctness/causality')"
    assert opened.run(f"{target}.closest('details').open")
    assert opened.run(f"{target}.checkVisibility()")
    top = opened.run(f"{target}.getBoundingClientRect().top")
    assert 0 <= top < 900


def test_an_address_with_a_fragment_opens_there(tab: Tab, bundled: Path) -> None:
    tab.open(bundled, "#qwen3.6-27b/kv_cache")
    assert tab.run("document.getElementById('qwen3.6-27b/kv_cache').open")


@pytest.mark.parametrize("dark", [False, True])
def test_dark_and_light_are_the_reader_s_choice(opened: Tab, dark: bool) -> None:
    opened.prefer(dark=dark)
    assert (_light(opened) < 128) is dark
    opened.click("#theme")
    assert (_light(opened) < 128) is not dark
    assert opened.run("document.cookie") == ""


def _light(tab: Tab) -> int:
    return int(tab.run(f"({RGB})(getComputedStyle(document.body).backgroundColor)[0]"))


RGB = """(colour) => {
  const context = new OffscreenCanvas(1, 1).getContext('2d');
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data];
}"""

CONTRASTS = f"""(() => {{
  const read = {RGB}, known = {{}};  // a canvas for each colour, and there are thousands of words
  const rgb = (colour) => known[colour] ??= read(colour);
  const bright = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
  const behind = (element) => {{
    for (let at = element; at; at = at.parentElement) {{
      const colour = rgb(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }}
    return [255, 255, 255];
  }};
  const found = {{}};
  for (const element of document.querySelectorAll('main *')) {{
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !element.checkVisibility() || element.closest('svg')) continue;
    let [one, other] = [rgb(getComputedStyle(element).color), behind(element)].map(bright);
    if (one < other) [one, other] = [other, one];
    const name = `${{element.tagName}}.${{element.className}} in ${{element.parentElement.className}}`;
    found[name] = Math.min(found[name] ?? 99, (one + 0.05) / (other + 0.05));
  }}
  return found;
}})()"""


@pytest.mark.parametrize("dark", [False, True])
def test_all_words_stand_out_from_what_is_behind_them(opened: Tab, dark: bool) -> None:
    """4.5 to 1 is what WCAG 2.2 asks of text (success criterion 1.4.3)."""
    opened.prefer(dark=dark)
    opened.run("document.querySelectorAll('details').forEach((d) => { d.open = true })")
    faint = {name: round(ratio, 2) for name, ratio in opened.run(CONTRASTS).items() if ratio < 4.5}
    assert faint == {}


@pytest.mark.parametrize("width", [320, 390, 768])
def test_a_phone_scrolls_the_page_downwards_only(tab: Tab, bundled: Path, width: int) -> None:
    tab.size(width, phone=True)
    tab.open(bundled)
    tab.run("document.querySelectorAll('details').forEach((d) => { d.open = true })")
    assert tab.run("document.documentElement.scrollWidth") <= width
    assert tab.run("document.querySelector('#board').offsetWidth") > width  # the table scrolls in its frame


def test_a_phone_shows_whole_names_numbers_and_links(tab: Tab, bundled: Path) -> None:
    tab.size(390, phone=True)
    tab.open(bundled)
    broken = "[...document.querySelectorAll('.chart strong')].filter((e) => e.getClientRects().length > 1).length"
    assert tab.run(broken) == 0
    assert tab.run("[...document.querySelectorAll('.compare table')].every((t) => t.offsetWidth <= innerWidth)")
    assert tab.run("document.querySelector('#compared tbody td:nth-child(3)').checkVisibility()")
    covered = """[...document.querySelectorAll('nav a')].filter((link) => {
      const box = link.getBoundingClientRect();
      return [box.left + 1, box.right - 1].some((x) => document.elementFromPoint(x, box.top + 5) !== link);
    }).map((link) => link.textContent)"""
    assert tab.run(covered) == []


def test_a_desk_shows_every_challenge_s_column(opened: Tab, material: ReportInputs) -> None:
    shown = opened.run("""(() => {
      const frame = document.querySelector('#board').parentElement;
      const inside = frame.getBoundingClientRect().left + frame.clientWidth;
      const heads = [...document.querySelectorAll('#board thead [data-challenge]')];
      return heads.filter((head) => head.getBoundingClientRect().right <= inside).map((h) => h.dataset.challenge);
    })()""")
    assert sorted(shown) == sorted(c.id for c in material.challenges)


def test_pinned_cells_draw_the_line_above_their_own_row(opened: Tab) -> None:
    """The cell below would cover a line that is drawn beneath."""
    cells = "[...document.querySelectorAll('#board tbody th')].map(getComputedStyle)"
    assert set(opened.run(f"{cells}.map((s) => s.borderTopWidth + ' ' + s.borderBottomWidth)")) == {"1px 0px"}


def test_paper_shows_all_and_no_controls(opened: Tab) -> None:
    opened.prefer(media="print")
    opened.size(1032)  # A4 across less its margins, at 96 pixels an inch
    assert opened.run("document.documentElement.scrollWidth") <= 1032
    assert not opened.run("[...document.querySelectorAll('.controls, nav')].some((e) => e.checkVisibility())")
    hidden = (
        "[...document.querySelectorAll('details.submission > *')].filter((e) => e.getBoundingClientRect().height === 0)"
    )
    assert opened.run(f"{hidden}.length") == 0


def test_without_scripts_the_marks_are_there(tab: Tab, bundled: Path) -> None:
    tab.ask("Emulation.setScriptExecutionDisabled", value=True)
    try:
        tab.open(bundled)
        shown = tab.run("[...document.querySelectorAll('.controls')].filter((e) => e.checkVisibility()).length")
        assert shown == 0
        assert tab.run("document.querySelector('#board').checkVisibility()")
    finally:
        tab.ask("Emulation.setScriptExecutionDisabled", value=False)


def test_whatever_a_submission_says_stays_text(tab: Tab, material: ReportInputs, place: Path) -> None:
    """In the name of a model, in findings, in code, in tables, drawings, and in what the script builds."""
    records = []
    for record in material.records:
        if record.model != "glm-5":
            records.append(record)
            continue
        said = {"title": SCRIPT, "detail": SCRIPT, "locations": Location.within("a.py", 1)}
        evidence = tuple(e.model_copy(update=said) if e.faulty else e for e in record.evidence)
        records.append(record.model_copy(update={"model": SCRIPT, "evidence": evidence}))
    sources = {r.name: {"a.py": SCRIPT} for r in records}
    path = place / "hostile.html"
    path.write_text(page(ReportInputs(material.challenges, records, sources=sources)), encoding="utf-8")
    tab.open(path)
    tab.run(_choice("compare-left", SCRIPT) + ";" + _choice("compare-right", "baseline"))
    tab.run("document.querySelectorAll('details').forEach((d) => { d.open = true })")
    assert tab.run("window.owned") is None
    assert SCRIPT in models(tab)
    for selector in (".findings strong", "figure.code pre", "#compared th span", "#compare-left option", "svg text"):
        texts = tab.run(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent)")
        assert any(SCRIPT[:20] in text for text in texts), selector
    assert tab.run("document.querySelectorAll('img').length") == 0
    assert tab.complaints == [] and tab.requests == [path.as_uri()]


def test_an_empty_page_complains_of_nothing(tab: Tab, place: Path) -> None:
    path = place / "empty.html"
    path.write_text(page(ReportInputs(())), encoding="utf-8")
    tab.open(path)
    assert "harness grade --all" in tab.run("document.body.innerText")
    assert tab.complaints == []
