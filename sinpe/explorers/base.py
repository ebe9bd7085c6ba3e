"""What the interactive figures share: arguments that Python and JavaScript check alike, and HTML
that holds an element and the script that defines it.
"""

import json
import operator
from dataclasses import field, fields
from html import escape
from importlib.resources import files

from sinpe.looks import METHODS, RULES, VARIANTS

WANTED = {"whole": "a whole number", "even": "an even number", "real": "a number"}


def number(default, low, high, kind="whole"):
    """A field with the limits that both languages check. kind: "whole", "even" or "real"."""
    return field(default=default, metadata={"low": low, "high": high, "kind": kind})


def choice(default, *others):
    """A field that is one of some words."""
    return field(default=default, metadata={"kind": "choice", "choices": (default, *others)})


class Explorer:
    """Checked arguments, and the HTML of an element.

    A subclass is a frozen dataclass with `tag`, the element's name; `parts`, the files of
    JavaScript that it needs, as one text, its own last, where "looks" stands for sinpe/looks.py;
    and `below`, pairs of a name and the name of what must exceed it.
    """

    below = ()

    def __post_init__(self):
        for argument in fields(self):
            _check(argument.name, getattr(self, argument.name), argument.metadata)
        for name, below in self.below:
            if getattr(self, name) >= getattr(self, below):
                raise ValueError(
                    f"{name} must be less than {below}, which is {getattr(self, below)}, got"
                    f" {getattr(self, name)}"
                )

    def within(self, name):
        """ValueError if the argument exceeds reach in size."""
        if abs(getattr(self, name)) > self.reach:
            raise ValueError(
                f"{name} must be at most reach in size, which is {self.reach}, got"
                f" {getattr(self, name)}"
            )

    @classmethod
    def rules(cls):
        """{attribute: its default, kind and limits}, as JavaScript reads them."""
        return {f.name.replace("_", "-"): {"default": f.default, **f.metadata} for f in fields(cls)}

    def attributes(self):
        """{attribute: value} of this element."""
        return {f.name.replace("_", "-"): getattr(self, f.name) for f in fields(self)}

    def html(self):
        """The element alone, for a page that has the script already."""
        attributes = "".join(
            f' {name}="{escape(str(value))}"' for name, value in self.attributes().items()
        )
        summary = type(self).__doc__.splitlines()[0].rstrip(".")
        return (
            f'<{self.tag} class="sinpe-explorer"{attributes}>Interactive figure'
            f" ({summary[0].lower()}{summary[1:]}): run the cell to see it.</{self.tag}>"
        )

    def _repr_html_(self):
        return f"{self.html()}\n<script>\n{joined((type(self),))}</script>"


def joined(explorers):
    """JavaScript that defines the explorers: a file that several need is there once."""
    rules = {explorer.tag: explorer.rules() for explorer in explorers}
    parts = dict.fromkeys(part for explorer in explorers for part in explorer.parts.split())
    code = "".join(map(_read, parts))
    return f"(() => {{\nconst ATTRIBUTES = {json.dumps(rules)};\n{code}}})();\n"


def _read(name):
    """A file without its comments and its indentation, since each output of a notebook holds it;
    "looks": the looks of position methods.
    """
    if name == "looks":
        looks = {**METHODS, **VARIANTS, **RULES}.items()
        return f"const LOOKS = {json.dumps({name: [x.colour, x.strokes] for name, x in looks})};\n"
    text = (files("sinpe.explorers") / f"{name}.js").read_text(encoding="utf-8")
    lines = (line.strip() for line in text.splitlines())
    return "".join(f"{line}\n" for line in lines if line and not line.startswith("//"))


def _check(name, value, rule):
    """ValueError unless the value obeys its field's rule. The sentences are those of common.js."""
    if rule["kind"] == "choice":
        if value not in rule["choices"]:
            raise ValueError(f"{name} must be {' or '.join(rule['choices'])}, got {value}")
        return
    if rule["kind"] == "words":
        words = value.split() if isinstance(value, str) else []
        if (
            not rule["low"] <= len(words) <= rule["high"]
            or len(max(words, key=len)) > (rule["longest"])
        ):
            raise ValueError(
                f"{name} must be {rule['low']} to {rule['high']} words of at most"
                f" {rule['longest']} letters, got {value or 'nothing'}"
            )
        return
    try:
        number = float(value) if rule["kind"] == "real" else operator.index(value)
        right = (
            rule["low"] <= number <= rule["high"]
            and not (rule["kind"] == "even" and number % 2)
            and not isinstance(value, bool | str | bytes)
        )
    except (TypeError, ValueError, OverflowError):
        right = False
    if not right:
        raise ValueError(
            f"{name} must be {WANTED[rule['kind']]} from {rule['low']:,.0f} to"
            f" {rule['high']:,.0f}, got {value}"
        )
