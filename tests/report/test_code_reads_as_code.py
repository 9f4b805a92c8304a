"""What stands between backticks is shown as code, in Markdown and on the page; nothing of it can get out of that."""

from markupsafe import Markup

from harness.report.escape import html, markdown


def test_backticks_make_code() -> None:
    text = "`decode` raises `a|b` at *x*"
    assert markdown(text) == "`decode` raises `a¦b` at \\*x\\*"
    assert html(text) == "<code>decode</code> raises <code>a|b</code> at *x*"


def test_backticks_without_a_partner_stay_what_they_are() -> None:
    assert markdown("`a` and ` b") == "`a` and \\` b"
    assert markdown("```python x```") == "\\`\\`\\`python x\\`\\`\\`"
    assert html("a ` b") == "a ` b"


def test_code_ends_where_it_began() -> None:
    hostile = '`<script>"&` [x](y) \\` `| <b>`'
    assert markdown(hostile) == '`<script>"&` \\[x\\](y) \\\\\\` `¦ <b>`'
    assert html('`"><script>`') == Markup("<code>&#34;&gt;&lt;script&gt;</code>")
