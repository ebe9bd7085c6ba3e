"""Write the paper, book/paper.md, from its text, tools/paper.md, and the records of the study.

    python tools/paper.py

Where the text says [[gap post: LF - QS]] the page has the number. A word such as "helps" rests on a
verdict: a line [[holds lower post: LF - QS]] before the paragraph stops this program as soon as the
records say otherwise, and the paragraph has to be rewritten. A test writes the page once more, with
numbers that share nothing with the package's, and compares.
"""

import math
import re
from pathlib import Path
from statistics import fmean

ROOT = Path(__file__).resolve().parent.parent
TEXT, PAGE = ROOT / "tools" / "paper.md", ROOT / "book" / "paper.md"
NORMS = ("post", "pre")
VERDICTS = ("lower", "higher", "equal", "undecided", "not complete")
CODE = math.sqrt(0.5)  # RMS of a positional code
TABLES = {  # {table: {label: comparison without the place of the norm}}
    "path": {
        "the factor: LF − QS": "LF - QS",
        "fast alone: QF − QS": "QF - QS",
        "loud alone: LS − QS": "LS - QS",
        "fast alone against the factor: QF − LF": "QF - LF",
        "loud against quiet, both frozen: L0 − Q0": "L0 - Q0",
        "the path at the slow speed: Y − QS": "Y - QS",
        "quiet kept, at the fast speed: P − QF": "P - QF",
        "slow on the fast one's path: Y − QF": "Y - QF",
        "fast, but kept quiet: P − QS": "P - QS",
    },
    "size": {
        "the factor's ratio and speed, small sum: S− − LF": "S- - LF",
        "no factor's ratio and speed, large sum: S+ − QS": "S+ - QS",
    },
    "tied": {
        "the factor: T-LF − T-QS": "T-LF - T-QS",
        "off, its way in × √d": "T-QS, way in x - T-QS",
        "off, its way in cut": "T-QS, way in cut - T-QS",
        "on, its way in / √d": "T-LF, way in / - T-LF",
        "on, its way in cut": "T-LF, way in cut - T-LF",
        "off, its table fast (logits too)": "T-QF - T-QS",
    },
}
ELSEWHERE = {
    "gradients clipped": ("clipped: LF - QS", "clipped: QF - LF"),
    "best of three rates for all other weights": (
        "best rate of all others: LF - QS",
        "best rate of all others: QF - LF",
    ),
    **{f"width {d}": (f"d {d}: LF - QS", f"d {d}: QF - LF") for d in (64, 256, 512)},
    "four times the steps": ("1600 steps: LF - QS", "1600 steps: QF - LF"),
}
OTHER = (
    "dropout 0.1",
    "clipped",
    "warm-up 160",
    "SGD, best rate",
    "words",
    "source code",
    *(f"{position}, tied, pre-norm" for position in ("none", "rope", "alibi")),
)


class Numbers:
    """What the records of the study say, by the package."""

    def __init__(self):
        from sinpe.experiments import analysis, get_study, load_records
        from sinpe.experiments.predictions import judge
        from sinpe.experiments.predictions_mechanism import MECHANISM, SEEN

        study = get_study("mechanism")
        records = load_records(study)
        found = analysis.compare(study, records)
        self.claims, self.seen = {p.number: p.claim for p in MECHANISM}, SEEN
        self._progress = analysis.progress(study, records)
        self._found = {f.name: f.difference for f in found}
        self._cells = {c.name: runs for c, runs in analysis.by_cell(study, records).items()}
        self._judged = judge(found, analysis.paired(study, records, found), MECHANISM)
        self.planned = len(study.runs())
        self.made = len(records)
        self.hours = sum(r["environment"]["seconds"] for r in records) / 3600

    def finding(self, name):
        """(mean, low, high, pairs, verdict) of a comparison, None if it was not run."""
        d = self._found.get(name)
        return d and (d.plain.mean, d.low, d.high, d.plain.n, d.verdict)

    def pairs_planned(self, name):
        return self._progress[name][1]

    def outcomes(self, number):
        """What came of each test of a prediction, and of all once every pair is there."""
        judgement = self._judged[number - 1]
        rests_on = [self._progress[name] for name in judgement.prediction.comparisons]
        complete = all(there == planned for there, planned in rests_on)
        outcomes = [outcome for _, _, outcome in judgement.results]
        return outcomes, judgement.verdict if complete else "not complete"

    def losses(self, norm, arm):
        """{seed: test loss} of an untied arm."""
        return {s: r["metrics"]["test_loss"] for s, r in self._runs(norm, arm).items()}

    def logged(self, norm, arm, what):
        """{seed: {step: value}} of what the log of an untied arm holds."""
        logs = {s: r["metrics"]["log"] for s, r in self._runs(norm, arm).items()}
        return {s: dict(zip(log["step"], log[what], strict=True)) for s, log in logs.items()}

    def _runs(self, norm, arm):
        return self._cells[f"{norm}, untied: {arm}"]


def page(text, numbers):
    """The page: the text, with what stands in [[…]] filled in."""
    fill = {
        "gap": lambda name: _gap(numbers, name),
        "by": lambda name: _by(numbers, name),
        "speed": lambda where: _speed(numbers, *where.split(", ")),
        "part": lambda names: _part(numbers, *names.split(" / ")),
        "pairs": lambda name: _pairs(numbers, name),
        "ratio": lambda where: _ratio(numbers, *where.split(", ")),
        "six": lambda norm: _six(numbers, norm),
        "table": lambda name: _table(numbers, TABLES[name]),
        "sweep": lambda _: _sweep(numbers),
        "elsewhere": lambda _: _elsewhere(numbers),
        "others": lambda _: _others(numbers),
        "verdicts": lambda _: _verdicts(numbers),
        "count": lambda verdict: str(_count(numbers, verdict)),
        "runs": lambda _: f"{numbers.made:,}".replace(",", " "),
        "hours": lambda _: f"{numbers.hours:.1f}",
        "state": lambda _: _state(numbers),
    }
    for line in re.findall(r"^\[\[holds .*\]\]$", text, re.MULTILINE):
        said = line.strip("[]").removeprefix("holds ")
        verdict = next((v for v in VERDICTS if said.startswith(f"{v} ")), None)
        if verdict is None:
            raise SystemExit(f"tools/paper.md: {line} names none of the verdicts {VERDICTS}")
        found = numbers.finding(said.removeprefix(f"{verdict} "))
        if found and found[4] != verdict:
            raise SystemExit(
                f"tools/paper.md: {line} no longer holds, the records say {found[4]!r}: rewrite"
                " the paragraph below it, and this line"
            )
    text = re.sub(r"^\[\[holds .*\]\]\n", "", text, flags=re.MULTILINE)

    def filled(match):
        name, _, argument = match[1].partition(" ")
        return fill[name](argument)

    return re.sub(r"\[\[([^][]+)\]\]", filled, text)


def _signed(value, digits=3):
    return f"{value:+z.{digits}f}".replace("-", "−")


def _cell(found):
    """A difference with its interval, its pairs and its verdict, as a cell of a table."""
    if not found:
        return "not yet recorded"
    mean, low, high, n, verdict = found
    return f"{_signed(mean)} ({_signed(low)} to {_signed(high)}), {n}, {verdict}"


def _pairs(numbers, name):
    there, planned = numbers.finding(name)[3], numbers.pairs_planned(name)
    return f"{there}" if there >= planned else f"{there} of {planned}"


def _gap(numbers, name):
    mean, low, high, _, _ = numbers.finding(name)
    return f"{_signed(mean)} ({_signed(low)} to {_signed(high)})"


def _by(numbers, name):
    """The size of a difference, whose direction a [[holds …]] vouches for."""
    mean, *ends, _, _ = numbers.finding(name)
    low, high = sorted(map(abs, ends))
    return f"{abs(mean):.2f} ({low:.2f} to {high:.2f})"


def _part(numbers, part, whole):
    """One difference as a share of another."""
    return f"{100 * numbers.finding(part)[0] / numbers.finding(whole)[0]:.0f} %"


def _ratio(numbers, norm, arm, step):
    """Of token to position at a step, mean over the seeds."""
    values = [log[int(step)] for log in numbers.logged(norm, arm, "token_rms").values()]
    return f"{fmean(values) / CODE:.2f}"


def _speed(numbers, norm, these, those, step=None):
    """How many times as far the input of one arm moves in a step as that of another, leaving out
    what is along the row itself; at a step, or the mean over the log. Means over the seeds.
    """
    far, near = (
        fmean(
            fmean(log.values()) if step is None else log[int(step)]
            for log in numbers.logged(norm, arm, "input_turn").values()
        )
        for arm in (these, those)
    )
    return f"{far / near:.1f}"


def _rows(heading, rows):
    lines = [heading, ["---", *["---"] * (len(heading) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _six(numbers, norm):
    """Mean losses of the two starts at three speeds, over the seeds that all six arms have."""
    starts = {"quiet (1/8)": ("Q0", "QS", "QF"), "loud (1.41)": ("L0", "LS", "LF")}
    found = {arm: numbers.losses(norm, arm) for arms in starts.values() for arm in arms}
    seeds = set.intersection(*map(set, found.values()))
    rows = [
        [start, *(f"{fmean(found[arm][s] for s in sorted(seeds)):.3f} ({arm})" for arm in arms)]
        for start, arms in starts.items()
    ]
    return _rows(["a token starts", "table frozen", "slow", "fast"], rows)


def _table(numbers, comparisons):
    rows = [
        [label, *(_cell(numbers.finding(f"{norm}: {pair}")) for norm in NORMS)]
        for label, pair in comparisons.items()
    ]
    return _rows(["difference of the test loss (nats)", "post-norm", "pre-norm"], rows)


def _sweep(numbers):
    rows = []
    for k in range(-5, 5):
        names = [f"ratio {2.0**k:g} - 1: {speed}" for speed in ("slow", "fast")]
        found = [numbers.finding(name) for name in names]
        cells = ["0" if k == 0 else _signed(f[0]) if f else "–" for f in found]
        rows.append(
            [f"{2.0**k:g}", *cells, _cell(numbers.finding(f"fast - slow: ratio {2.0**k:g}"))]
        )
    return _rows(
        ["ratio at the start", "slow, minus ratio 1", "fast, minus ratio 1", "fast − slow"], rows
    )


def _elsewhere(numbers):
    rows = [[label, *map(_cell, map(numbers.finding, names))] for label, names in ELSEWHERE.items()]
    return _rows(
        ["untied, post-norm", "the factor: LF − QS", "fast alone against it: QF − LF"], rows
    )


def _others(numbers):
    rows = [
        [name.removesuffix(", tied, pre-norm"), _cell(numbers.finding(f"factor on - off: {name}"))]
        for name in OTHER
    ]
    return _rows(["tied", "factor on − off"], rows)


def _verdicts(numbers):
    rows = []
    for number, claim in numbers.claims.items():
        outcomes, verdict = numbers.outcomes(number)
        right = f"{outcomes.count('confirmed')} of {len(outcomes)}"
        rows.append([str(number), claim, numbers.seen.get(number, "no"), right, verdict])
    return _rows(["no.", "prediction", "seen before", "tests confirmed", "verdict"], rows)


def _count(numbers, verdict):
    return sum(numbers.outcomes(number)[1] == verdict for number in numbers.claims)


def _state(numbers):
    if numbers.made == numbers.planned:
        return f"All {numbers.made:,} planned runs are recorded.".replace(",", " ")
    counts = f"{numbers.made:,} of {numbers.planned:,} planned runs are recorded".replace(",", " ")
    return f"**This is an interim state:** {counts}, and verdicts may still change."


def main():
    PAGE.write_text(page(TEXT.read_text(encoding="utf-8"), Numbers()), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
