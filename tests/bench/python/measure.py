"""Ours and a peer's in turn, round by round, as a row of a table."""

import statistics


def compare(rounds, row, ours, theirs):
    """Runs both in turn, the first round to warm up, and returns the row with the medians of the
    rounds. Both are functions that return how many there were per second."""
    figures = []
    for number in range(rounds + 1):
        if number % 2:
            second = theirs()
            figures.append((ours(), second))
        else:
            figures.append((ours(), theirs()))
    return with_figures(row, figures)


def with_figures(row, figures):
    ours, theirs = zip(*figures[1:])  # the first round warms up
    return {
        **row,
        "ours": statistics.median(ours),
        "theirs": statistics.median(theirs),
        "ratio": statistics.median(a / b for a, b in zip(ours, theirs)),
    }
