"""The frame of HTML reports."""

import jinja2
import pytest

from sojourn.show.tables import Table, render

REPORT = """{% extends "page.html" %}
{% block main %}{{ text }}{{ table }}{{ svg | safe }}{% endblock %}
{% block footer %}made by {{ maker }}{% endblock %}"""


def test_a_report_is_one_page_that_needs_nothing_else() -> None:
    table = Table(["a"], [["<1>"]])
    page = render(REPORT, title="T", text="<script>", table=table, svg="<svg></svg>", maker="me")
    assert page.startswith("<!doctype html>")
    assert "<h1>T</h1>" in page and "made by me" in page
    assert "&lt;script&gt;" in page and "<script>" not in page
    assert table.html() in page and "<svg></svg>" in page
    assert "prefers-color-scheme: dark" in page and "@media print" in page
    assert "http://" not in page and "https://" not in page


def test_a_fact_that_is_missing_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError, match="maker"):
        render(REPORT, title="T", text="", table="", svg="")
