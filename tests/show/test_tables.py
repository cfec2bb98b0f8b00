"""Tables: alignment, escaping, rows that end early."""

from html.parser import HTMLParser

from sojourn.show.tables import Table

TABLE = Table(
    ["policy", "regret", "±", "source"],
    [["UCB", "1,012.5", "9.3", "Theorem 1"], ["KL-UCB", "-49.9", "nan", ""], ["lower bound"]],
)


def test_text_aligns_numbers_right_and_words_left() -> None:
    assert TABLE.text().splitlines() == [
        "policy        regret    ±  source",
        "UCB          1,012.5  9.3  Theorem 1",
        "KL-UCB         -49.9  nan",
        "lower bound",
    ]


def test_text_is_never_wrapped_or_cut() -> None:
    wide = "x" * 300
    assert Table(["a", "b"], [[wide, "1"]]).text().endswith(f"{wide}  1")


def test_columns_to_align_left_can_be_given() -> None:
    table = Table(["id", "version"], [["a", "1.0"], ["b", "10.0"]], left=(0, 1))
    assert table.text().splitlines() == ["id  version", "a   1.0", "b   10.0"]


def test_a_first_column_of_numbers_is_a_column_of_names() -> None:
    assert Table(["state", "D"], [["0", "100"], ["0.5", "1"]]).text().splitlines() == [
        "state    D",
        "0      100",
        "0.5      1",
    ]


def test_a_column_with_any_word_is_text() -> None:
    assert Table(["", "n"], [["a", "100"], ["b", "none"]]).text().splitlines()[1] == "a  100"


def test_without_headings_there_is_no_empty_line() -> None:
    assert Table(["", ""], [["visits", "20"]]).text() == "visits  20"


def test_a_table_without_rows_is_its_headings() -> None:
    assert Table(["a", "b"], []).text() == "a  b"


def test_markdown_escapes_what_it_would_read() -> None:
    assert Table(["a", "b"], [["x|y", "V*\nQ*"]]).markdown().splitlines() == [
        "| a | b |",
        "|---|---|",
        "| x\\|y | V\\*<br>Q\\* |",
    ]


class Cells(HTMLParser):
    """What a browser would find: the text and class of every cell."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str | None, str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("td", "th"):
            self.found.append((tag, dict(attrs).get("class"), ""))
        elif tag == "br":
            self.handle_data("\n")

    def handle_data(self, data: str) -> None:
        if self.found and data.strip("\n") + data.strip(" "):
            tag, kind, text = self.found[-1]
            self.found[-1] = (tag, kind, text + data)


def test_html_has_the_text_and_marks_numbers() -> None:
    page = Table(["a", "n"], [["<b>&\n2", "1"]]).html()
    found = [(tag, kind, text.rstrip("\n")) for tag, kind, text in Cells(page).found]
    assert found == [
        ("th", None, "a"),
        ("th", "number", "n"),
        ("td", None, "<b>&\n2"),
        ("td", "number", "1"),
    ]


def test_templates_take_a_table_as_it_is() -> None:
    assert TABLE.__html__() == TABLE.html()
