"""The figures as Markdown; starts nothing and computes nothing (see stats.py).

`summary` is what stands in benches/README.md, `markdown` the whole report beside the raw lines.
"""

import stats
from ops import OPERATIONS
from stats import ratio_text, seconds_text, size_text, spread_text


def markdown(samples, wholes, peers, facts, notes, appended=(), scene="TCP on loopback"):
    """The whole report: facts, summary, and every cell."""
    parts = [f"# ringworld beside its peers, {scene}", ""]
    parts += summary(samples, wholes, peers, facts, notes, appended)
    parts += ["", "## All times", "",
              "Time: median over rounds (lowest–highest round); the fastest in bold. Ratio: fastest peer's time / ringworld's time "
              "(lowest–highest round); above 1 ringworld is faster."]
    if any(sample.line.off_wire(sample.ranks) for sample in samples):
        parts.append("† Too little crossed the loopback interface: shared memory or the like; left out of the ratio.")
    for setting in stats.settings(samples):
        for op, about in OPERATIONS.items():
            table = stats.cells(samples, op, setting)
            if table:
                parts += ["", f"### {about.title}, {setting}", ""]
                parts += times_table("size", {size_text(size): row for size, row in table.items()}, peers, seconds_text)
    return "\n".join(parts) + "\n"


def summary(samples, wholes, peers, facts, notes, appended=()):
    """Facts, notes, ratios, processor time and start-up, then the tables of limits.py and links.py, as lines."""
    parts = [f"- {key}: {value}" for key, value in facts.items()]
    unchecked = sorted({peers[s.peer].title for s in samples if s.line.wire_bytes is None})
    if unchecked and any(s.line.wire_bytes is not None for s in samples):
        parts += ["", f"Whether they used the wire is not checked for: {', '.join(unchecked)}."]
    if notes:
        parts += ["", "**Notes**", ""] + [f"- {note}" for note in notes]
    for setting in stats.settings(samples):
        parts += ratio_matrix(samples, setting, "Fastest peer's time / ringworld's time", stats.ratio)
    parts += means(samples, peers)
    parts += since_before(samples)
    parts += processor(samples, wholes, peers)
    parts += start_up(wholes, peers)
    return parts + list(appended)


BEGIN, END = "<!-- peers: written by `benches/peers/run --readme` -->", "<!-- peers: end -->"


def into_readme(path, lines, run, drawn):
    """Puts the summary between the marks in benches/README.md."""
    head, begin, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path} has not both marks {BEGIN!r} and {END!r}, one line each; put them where the summary belongs")
    pictures = " · ".join(f"[{picture.stem}](plots/{picture.name})" for picture in drawn)
    where = [f"Every time with its spread: [runs/{run}.md](runs/{run}.md); raw lines beside it as CSV."]
    where += [f"Plots, one per operation: {pictures}."] if drawn else []
    path.write_text("\n".join([head + begin, "", *where, "", *lines, "", end + tail]), encoding="utf-8")


def ratio_matrix(samples, setting, title, of):
    """Sizes down, operations across; in each cell the ratio `of` its row."""
    tables = {op: stats.cells(samples, op, setting) for op in OPERATIONS}
    tables = {op: table for op, table in tables.items() if any(of(row) for row in table.values())}
    if not tables:
        return []
    rows = sorted({size for table in tables.values() for size in table})
    lines = ["", f"### {title}, {setting}", "",
             "Median over rounds; above 1 ringworld is faster, below 1 in bold.", "",
             "| size | " + " | ".join(tables) + " |", "|---" * (len(tables) + 1) + "|"]
    for size in rows:
        texts = []
        for table in tables.values():
            found = of(table.get(size, {}))
            text = f"{found[0]:.2f}" if found else ""
            texts.append(f"**{text}**" if found and found[0] < 1 else text)
        lines.append(f"| {size_text(size)} | " + " | ".join(texts) + " |")
    return lines


# A cell counts as slower than before when it is by more than this in its median, and slower in every round.
SLOWER = 0.95


def since_before(samples):
    """ringworld's time before over its time now, by cell and by operation, and the cells that have become slower."""
    matrices, rows, slower = [], [], []
    for setting in stats.settings(samples):
        matrices += ratio_matrix(samples, setting, "ringworld's time before / its time now", stats.since_before)
        for op in OPERATIONS:
            found = {size: ratios for size, row in stats.cells(samples, op, setting).items() if (ratios := stats.since_before(row))}
            if found:
                worst = min(found, key=lambda size: found[size][0])
                mean = stats.geometric_mean([ratios[0] for ratios in found.values()])
                rows.append(f"| {op} | {setting} | {mean:.2f} | {ratio_text(found[worst])} | {size_text(worst)} |")
                slower += [f"- {op}, {setting}, {size_text(size)}: {ratio_text(ratios)}" for size, ratios in found.items()
                           if ratios[0] < SLOWER and ratios[2] < 1]
    if not rows:
        return []
    return matrices + ["", "### Before and now by operation", "",
                       "| operation | world | geometric mean over sizes | lowest (its rounds) | at |", "|---|---|---|---|---|", *rows, "",
                       f"Below {SLOWER} in the median, and below 1 in every round:{'' if slower else ' none.'}"] + slower


def means(samples, peers):
    """Mean and worst ratio of every operation."""
    lines = []
    for setting in stats.settings(samples):
        for op in OPERATIONS:
            table = stats.cells(samples, op, setting)
            ratios = {size: found for size, row in table.items() if (found := stats.ratio(row))}
            if ratios:
                worst = min(ratios, key=lambda size: ratios[size][0])
                mean = stats.geometric_mean([found[0] for found in ratios.values()])
                fastest = peers[stats.rival(table[worst])].title
                lines.append(f"| {op} | {setting} | {mean:.2f} | {ratio_text(ratios[worst])} | {size_text(worst)} | {fastest} |")
    if not lines:
        return []
    return ["", "### Ratios by operation", "", "| operation | world | geometric mean over sizes | lowest (its rounds) | at | to |",
            "|---|---|---|---|---|---|"] + lines


def processor(samples, wholes, peers):
    """What the figures cost in processor time."""
    rows = {f"{op}, {ranks} ranks": row for (op, ranks), row in sorted(stats.cpu_rows(samples).items(), key=by_table)}
    parts = []
    if rows:
        parts += ["", "### Processor seconds per gigabyte", "",
                  f"User and system time of all ranks while they were timed, per 10^9 bytes that must at least be sent; sizes of "
                  f"{size_text(stats.LARGE)} and more, their geometric mean. The most frugal in bold; ratio: the most frugal peer's / ringworld's.", ""]
        parts += times_table("operation", rows, peers, spread_text)
    for field, title in (("cpu_s", "Processor seconds of the whole runs"), ("wall_s", "Their duration")):
        table = stats.whole_rows(wholes, field, empty=False)
        if table:
            parts += ["", f"### {title}", ""]
            if field == "cpu_s":
                parts += ["One round of all operations, launchers, start-up and warm-up included. A run has time to fill, not a number of "
                          "messages to send: whoever is faster sends more.", ""]
            parts += times_table("ranks", table, peers, seconds_text, compare=False)
    return parts


def by_table(item):
    """The order of operations in their table, then of ranks."""
    (op, ranks), _ = item
    return ranks, list(OPERATIONS).index(op)


def start_up(wholes, peers):
    """An empty world, from command to exit."""
    table = stats.whole_rows(wholes, "wall_s", empty=True)
    if not table:
        return []
    return ["", "### Start-up of an empty world, from command to exit", "",
            "Every rank joins, meets the others in one barrier and ends.", ""] + times_table("ranks", table, peers, seconds_text)


def times_table(corner, table, peers, text, compare=True):
    """Rows of peers' figures, the lowest that counts in bold, with the ratio at the end."""
    present = [peer for peer in peers.values() if any(peer.name in row for row in table.values())]
    titles = [peer.title for peer in present] + (["ratio"] if compare else [])
    lines = [f"| {corner} | " + " | ".join(titles) + " |", "|---" * (len(titles) + 1) + "|"]
    for name, row in table.items():
        counted = [cell for cell in row.values() if not cell.off_wire]
        lowest = min(counted, key=lambda cell: cell.time) if counted and compare else None
        texts = [cell_text(row.get(peer.name), lowest, text) for peer in present]
        lines.append(f"| {name} | " + " | ".join(texts + ([ratio_text(stats.ratio(row))] if compare else [])) + " |")
    return lines


def cell_text(cell, lowest, text):
    """One figure as it stands in a table."""
    if cell is None:
        return "–"
    shown = text(cell)
    return f"{shown} †" if cell.off_wire else f"**{shown}**" if cell is lowest else shown
