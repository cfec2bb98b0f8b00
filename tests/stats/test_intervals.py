from math import inf, nan, sqrt

import numpy as np
import pytest

from sojourn.stats.intervals import Z95, Interval, average, ratio, share, z


def test_z_is_the_normal_quantile() -> None:
    assert z() == pytest.approx(Z95, abs=1e-14)
    assert z(0.99) == pytest.approx(2.5758293035489004, abs=1e-12)


def test_intervals_print_two_digits_of_the_half_width() -> None:
    assert str(Interval.around(1234.567, 8.73)) == "1,234.6 ± 8.7"
    assert str(Interval.around(0.12345, 0.0042)) == "0.1235 ± 0.0042"
    assert str(Interval(2.0, 1.5, 4.0)) == "2.0 [1.5, 4.0]"
    assert str(Interval.exact(10.0)) == "10 (exact)"
    assert "inf" in str(Interval.around(1.0, nan))


def test_a_normal_interval_comes_from_a_standard_error_and_stops_at_the_least_value() -> None:
    assert [*Interval.from_error(1.0, 0.5)] == pytest.approx([1.0, 1.0 - Z95 / 2, 1.0 + Z95 / 2])
    assert [*Interval.from_error(1.0, 1.0, least=0.0)] == pytest.approx([1.0, 0.0, 1.0 + Z95])


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilsons_interval_has_the_values_of_newcombe_1998(
    count: int, of: int, low: float, high: float
) -> None:
    assert [*share(count, of)] == pytest.approx([count / of, low, high], abs=5e-5)


@pytest.mark.parametrize(("count", "of"), [(0, 5), (9, 10), (80, 100), (5, 5), (2.5, 7)])
def test_the_ends_of_an_interval_are_the_means_that_the_data_just_allow(
    count: float, of: float
) -> None:
    interval = share(count, of)
    assert interval is not None
    assert interval.value == count / of
    for end in (interval.low, interval.high):
        variance = end * (1.0 - end) / of
        assert (interval.value - end) ** 2 == pytest.approx(Z95**2 * variance, abs=1e-12)


def test_nothing_counted_has_no_interval() -> None:
    assert share(0, 0) is None
    assert average(0, 0, 0) is None


def test_an_average_has_the_error_of_its_numbers() -> None:
    numbers = [3.0, 1.0, 4.0, 1.0, 5.0]
    interval = average(5, sum(numbers), sum(x * x for x in numbers))
    assert interval is not None
    half = Z95 * np.std(numbers, ddof=1) / sqrt(5)
    assert interval.value == pytest.approx(2.8)
    assert interval.high - 2.8 == pytest.approx(half)
    assert interval.low == pytest.approx(max(2.8 - half, 0.0))


def test_one_number_says_nothing_of_its_error() -> None:
    assert average(1, 3.0, 9.0) == Interval(3.0, 0.0, inf)


def test_a_ratio_is_at_its_widest() -> None:
    assert ratio((10.0, 2.0), (4.0, 1.0)) == Interval(2.5, 8 / 5, 4.0)
    assert ratio((10.0, 2.0), (1.0, 2.0)).high == inf
    assert ratio((1.0, 2.0), (4.0, 1.0)).low == 0.0
