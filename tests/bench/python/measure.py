"""Ours and peers' in turn, round by round, as rows of a table."""

import statistics


def in_turn(rounds, measured):
    """Runs each of the functions in turn, every other round in the reverse order, and returns by
    name what they returned in the rounds after the first, which warms up."""
    figures = {name: [] for name in measured}
    for number in range(rounds + 1):
        names = reversed(measured) if number % 2 else measured
        for name in names:
            figures[name].append(measured[name]())
    return {name: found[1:] for name, found in figures.items()}


def compare(rounds, row, ours, theirs):
    """Runs both in turn and returns the row with the medians of the rounds. Both are functions
    that return how many there were per second."""
    return with_figures(row, **in_turn(rounds, {"ours": ours, "theirs": theirs}))


def with_figures(row, ours, theirs):
    return {
        **row,
        "ours": statistics.median(ours),
        "theirs": statistics.median(theirs),
        "ratio": statistics.median(a / b for a, b in zip(ours, theirs)),
    }
