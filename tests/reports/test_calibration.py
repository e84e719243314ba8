"""The calibration report (I5) against numbers computed by hand, as text and as HTML."""

from html.parser import HTMLParser

import pytest

from kaizen_components.errors import Conflict, NotFound, Unavailable, Usage
from kaizen_components.reports.charts import calibration

VOID_ELEMENTS = {"meta", "br", "hr", "link", "img", "input"}
# (0.1² + 0.2² + 0.8² + 0.3² + 0.1²) / 5 = 0.79 / 5 = 0.158; base rate 2/5; 0.4 × 0.6 = 0.24
BY_HAND = [(0.9, "happened"), (0.8, "happened"), (0.8, "did-not-happen"), (0.3, "did-not-happen"),
           (0.1, "did-not-happen")]  # fmt: skip


@pytest.fixture
def closed(kaizen):
    """`closed([(0.9, "happened"), …])`: the id of a review with these predictions.

    The outcome None leaves a prediction open.
    """

    def add(predictions, title="A release", **more):
        review = kaizen("I1", title=title, summary="S", **more)["id"]
        for probability, outcome in predictions:
            prediction = kaizen(
                "I2", irl_id=review, summary="It holds.", probability=probability, deadline="+7d"
            )["id"]
            if outcome:
                kaizen("I4", prediction_id=prediction, outcome=outcome, summary="S")
        return review

    return add


class Page(HTMLParser):
    """Parses a page; fails if an element is not closed, or closed in the wrong order."""

    def __init__(self, text):
        super().__init__()
        self.stack, self.tags, self.texts, self.attributes = [], [], [], []
        self.feed(text)
        self.close()
        assert self.stack == [], f"{self.stack} are not closed"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID_ELEMENTS:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.stack and self.stack[-1] == tag, f"</{tag}> inside {self.stack}"
        self.stack.pop()

    def handle_data(self, data):
        self.texts.append(data)


def write_page(kaizen, root, **more):
    path = root / kaizen("I5", format="html", **more)["path"]
    return path.read_text(encoding="utf-8")


def list_used_ranges(report):
    """Return {range: (count, mean probability, share that happened)} of ranges with predictions."""
    return {
        row["predicted"]: (row["count"], row["mean_predicted"], row["observed"])
        for row in report["calibration"]
        if row["count"]
    }


# The numbers


def test_calibration_scores_match_values_computed_by_hand(kaizen, closed):
    closed([*BY_HAND, (0.99, "void"), (0.5, None)])
    report = kaizen("I5")

    assert (report["brier"], report["base_rate"], report["base_rate_brier"]) == (0.158, 0.4, 0.24)
    assert (report["predictions"], report["closed"], report["happened"], report["void"]) == (
        7,
        5,
        2,
        1,
    )
    assert (report["not_due_yet"], report["overdue_count"], report["reviews"]) == (1, 0, 1)
    assert "better than" in report["reading"]


def test_calibration_table_has_ten_ranges_of_probability(kaizen, closed):
    closed(BY_HAND)
    report = kaizen("I5")

    assert [row["predicted"] for row in report["calibration"]] == [
        f"{low}-{low + 10} %" for low in range(0, 100, 10)
    ]
    assert list_used_ranges(report) == {
        "10-20 %": (1, 0.1, 0), "30-40 %": (1, 0.3, 0), "80-90 %": (2, 0.8, 0.5), "90-100 %": (1, 0.9, 1),
    }  # fmt: skip
    assert report["calibration"][0] == {
        "predicted": "0-10 %",
        "count": 0,
        "mean_predicted": None,
        "observed": None,
    }


@pytest.mark.parametrize("tenth", range(11))
def test_probability_between_two_ranges_counts_in_upper_range(tenth):
    table = calibration.group_predictions([(tenth / 10, True)])

    assert [index for index, row in enumerate(table) if row["count"]] == [min(tenth, 9)]


def test_row_of_range_shows_mean_probability_and_outcome_rate(kaizen, closed):
    closed([(0.61, "happened"), (0.62, "did-not-happen"), (0.66, "happened")])

    assert list_used_ranges(kaizen("I5")) == {"60-70 %": (3, 0.63, 0.6667)}


@pytest.mark.parametrize(
    "predictions, brier, base_brier, comparison",
    [
        ([(1, "happened"), (0, "did-not-happen")], 0, 0.25, "better than"),
        ([(0, "happened"), (1, "did-not-happen")], 1, 0.25, "worse than"),
        ([(0.5, "happened"), (0.5, "did-not-happen")], 0.25, 0.25, "as good as"),
        ([(1, "happened")], 0, 0, "as good as"),
        ([(0.2, "happened")], 0.64, 0, "worse than"),
    ],
)
def test_score_is_compared_with_base_rate(
    kaizen, closed, predictions, brier, base_brier, comparison
):
    closed(predictions)
    report = kaizen("I5")

    assert (report["brier"], report["base_rate_brier"]) == (brier, base_brier)
    assert f"This is {comparison} always" in report["reading"]


@pytest.mark.parametrize("predictions", [[], [(0.5, None)], [(0.5, "void")]])
@pytest.mark.parametrize("format", ["text", "json", "html"])
def test_report_without_closed_predictions_has_no_score(kaizen, closed, root, predictions, format):
    closed(predictions)
    report = kaizen("I5", format=format)

    assert report["brier"] is report["base_rate"] is report["base_rate_brier"] is None
    assert "No prediction is closed" in report["reading"]
    assert report.get("plot") is None
    if format == "html":
        assert "svg" not in Page((root / report["path"]).read_text()).tags


def test_calibration_report_covers_given_review_or_all(kaizen, closed):
    good = closed([(1, "happened")], "Good")
    closed([(0, "happened"), (0.5, None)], "Bad")
    kaizen("I3", irl_id=good, summary="S")

    assert (kaizen("I5")["brier"], kaizen("I5")["reviews"], kaizen("I5")["corrections"]) == (
        0.5,
        2,
        1,
    )
    report = kaizen("I5", id=good)
    numbers = (report["brier"], report["reviews"], report["predictions"], report["review_id"])
    assert numbers == (0, 1, 1, good)
    last = kaizen("I5", id="@last")
    assert (last["brier"], last["corrections"], last["review"]) == (1, 0, "Bad")
    with pytest.raises(NotFound):
        kaizen("I5", id="irl_1999")


def test_test_review_counts_only_in_its_own_report(kaizen, closed):
    closed([(1, "happened")])
    test_review = closed([(0, "happened")], test=True)
    kaizen("I3", irl_id=test_review, summary="S")

    everything = kaizen("I5")
    assert (everything["brier"], everything["reviews"], everything["corrections"]) == (0, 1, 0)
    assert (kaizen("I5", id=test_review)["brier"], kaizen("I5", id=test_review)["corrections"]) == (
        1,
        1,
    )


def test_test_outcome_leaves_prediction_open(kaizen, closed):
    closed([(0.5, None)])
    kaizen("I4", prediction_id="@last", outcome="happened", summary="S", test=True)
    report = kaizen("I5")

    assert (report["closed"], report["not_due_yet"]) == (0, 1)


# As text


def test_text_plot_matches_expected_lines(kaizen, closed):
    closed(BY_HAND)

    assert kaizen("I5")["plot"].splitlines() == [
        " predicted  # happened   | was predicted           count",
        "            0 %      25 %      50 %      75 %    100 %",
        "    0-10 %                                                0",
        "   10-20 %  ....|....................................     1",
        "   20-30 %                                                0",
        "   30-40 %  ............|............................     1",
        "   40-50 %                                                0",
        "   50-60 %                                                0",
        "   60-70 %                                                0",
        "   70-80 %                                                0",
        "   80-90 %  #####################...........|........     2",
        "  90-100 %  ####################################|####     1",
    ]


def test_text_report_fits_narrow_terminal(kaizen, closed, cli):
    closed([*BY_HAND, (0.5, None)], "A long title " * 10)
    out = cli("I5", "--id", "@last", env={"COLUMNS": "80"}).out

    assert all(len(line) <= 80 for line in out.splitlines())
    for line in kaizen("I5")["plot"].splitlines():
        assert any(shown.endswith(line) for shown in out.splitlines())
    assert "0.158" in out and "It holds." in out


def test_json_has_same_data_without_plot(kaizen, closed):
    closed(BY_HAND)
    text, data = kaizen("I5"), kaizen("I5", format="json")

    assert "plot" not in data
    assert data == {name: value for name, value in text.items() if name != "plot"}


# As a page


def test_page_shows_numbers_plot_and_open_predictions(kaizen, closed, root):
    closed([*BY_HAND, (0.5, None)])
    page = Page(write_page(kaizen, root))

    assert page.tags.count("svg") == 1 and page.tags.count("circle") == 4
    assert {"title", "desc", "table", "caption"} <= set(page.tags)
    for text in (
        "0.1580",
        "0.2400",
        "40.0 %",
        "predicted probability",
        "how often it happened",
        "80-90 %",
        "It holds.",
    ):
        assert any(text in page_text for page_text in page.texts), text
    assert ("role", "img") in page.attributes and (
        "aria-labelledby",
        "plot-title plot-desc",
    ) in page.attributes


def test_plot_places_points_by_prediction_and_outcome():
    plot = calibration.draw_svg_plot(
        calibration.group_predictions([(0.25, True), (0.25, False), (1, True)])
    )
    positions = [(point["x"] - plot["left"], point["y"] - plot["top"]) for point in plot["points"]]

    assert positions == [(0.25 * plot["side"], 0.5 * plot["side"]), (plot["side"], 0)]
    assert "2 predicted at 25.0% on average, 50.0% happened" in plot["points"][0]["tooltip"]
    assert plot["points"][0]["r"] > plot["points"][1]["r"]


def test_calibration_page_loads_nothing_external(kaizen, closed, root):
    closed(BY_HAND)
    page = Page(write_page(kaizen, root))

    assert not [value for name, value in page.attributes if name in ("src", "href", "xlink:href")]
    assert not {"script", "link", "img", "iframe"} & set(page.tags)


HOSTILE = "<script>alert(1)</script>"


def test_calibration_page_escapes_hostile_text(kaizen, root):
    review = kaizen("I1", title=HOSTILE, summary="S")["id"]
    summary = HOSTILE + "\"' onload=x </svg> &amp; {{ 7 * 7 }}"
    kaizen("I2", irl_id=review, summary=summary, probability=0.5, deadline="+7d")
    text = write_page(kaizen, root, id=review)
    page = Page(text)

    assert "<script" not in text and "script" not in page.tags
    assert HOSTILE in "".join(page.texts)
    assert summary in page.texts


def test_calibration_page_names_log_root_and_size(kaizen, closed, root):
    closed(BY_HAND)
    text, log = write_page(kaizen, root), kaizen("K8")

    assert log["root"] in text and f"{log['entries']} entries" in text


def test_existing_page_is_never_overwritten(kaizen, closed, root):
    closed(BY_HAND)

    first, second = (kaizen("I5", format="html")["path"] for _ in range(2))
    assert (
        first != second
        and first.startswith("AI/db/exports/calibration-")
        and first.endswith(".html")
    )
    target = root / "new folder" / "report.html"
    assert kaizen("I5", format="html", out=str(target))["path"] == "new folder/report.html"
    before = target.read_bytes()
    with pytest.raises(Conflict, match="already exists"):
        kaizen("I5", format="html", out=str(target))
    assert target.read_bytes() == before


def test_calibration_report_to_unwritable_path_is_refused(kaizen, closed, root):
    closed(BY_HAND)
    (root / "file").write_text("")
    for folder in ("file", "file/below"):
        with pytest.raises(Unavailable, match="cannot be written"):
            kaizen("I5", format="html", out=str(root / folder / "report.html"))
    with pytest.raises(Conflict):
        kaizen("I5", format="html", out=str(root))


@pytest.mark.parametrize("format", ["text", "json"])
def test_calibration_out_without_html_is_refused(kaizen, closed, root, format):
    closed(BY_HAND)
    with pytest.raises(Usage, match="--format html"):
        kaizen("I5", format=format, out=str(root / "report.txt"))
    assert not (root / "report.txt").exists()
