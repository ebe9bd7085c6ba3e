"""The rules themselves: each one refuses what it is there to refuse, and a notebook that keeps them
all passes.
"""

import re

import nbformat
import pytest
from contract import RULES, Notebook, example, load_yaml
from contract.outputs import NUMBER
from contract.prose import slug


def source(name, old, new):
    """Replace text in the source of one cell."""

    def change(node):
        cell = example.find(node, name)
        assert old in cell.source
        cell.source = cell.source.replace(old, new)

    return change


def shows(name, text):
    """Let a code cell print this text instead of what it shows."""
    return lambda node: example.find(node, name).update(outputs=[example.output(text, 1)])


def adds(name, code):
    """Add lines to a code cell."""
    return lambda node: example.find(node, name).update(
        source=example.find(node, name).source + "\n" + code
    )


def markdown(text):
    """Add a paragraph to a Markdown cell in the middle."""
    return adds("more", "\n" + text)


def described(**mystnb):
    """Change the figure's description; the stored pictures follow."""

    def change(node):
        cell = example.find(node, "figure")
        cell.metadata["mystnb"] = nbformat.from_dict({**example.FIGURE, **mystnb})
        alt = cell.metadata.mystnb.get("image", {}).get("alt")
        for kind in ("image/svg+xml", "image/png"):
            cell.outputs[0].metadata[kind] = {"alt": alt} if alt else {}

    return change


def without(name):
    return lambda node: node.cells.remove(example.find(node, name))


def metadata(name, **values):
    return lambda node: example.find(node, name).metadata.update(values)


def output_of(name, **data):
    return lambda node: (
        example.find(node, name)
        .outputs[0]
        .data.update(
            {key.replace("__", "/").replace("_plus_", "+"): value for key, value in data.items()}
        )
    )


STDERR = nbformat.v4.new_output("stream", name="stderr", text="x.py:1: UserWarning: careful")
ERROR = nbformat.v4.new_output(
    "error", ename="ValueError", evalue="no", traceback=["ValueError: no"]
)
MANY = [nbformat.v4.new_code_cell("1 + 1", id=f"extra-{i}", execution_count=1) for i in range(40)]


def more_cells(node):
    """Forty more ideas, before the closing sections."""
    node.cells[5:5] = MANY


FAR_CHECK = nbformat.v4.new_code_cell(
    "# @title Check: the spread lies in its range\nassert 0.2 < wave.std() < 0.4",
    id="far",
    metadata={"tags": ["hide-cell"]},
)
SEEDS = "with torch.random.fork_rng():\n    torch.manual_seed(0)\n    noise = torch.randn(3)"

BROKEN = [
    ("valid_notebook_format", "an older format", lambda node: node.update(nbformat_minor=4)),
    (
        "valid_notebook_format",
        "not valid by the schema",
        lambda node: example.find(node, "values").outputs[0].update(name=7),
    ),
    (
        "stored_as_the_runner_writes_it",
        "other indentation",
        lambda node: nbformat.v4.writes(node, indent=2),
    ),
    ("stored_as_the_runner_writes_it", "an editor's metadata", metadata("values", collapsed=True)),
    (
        "stored_as_the_runner_writes_it",
        "a Python version",
        lambda node: node.metadata.language_info.update(version="3.12.1"),
    ),
    (
        "python3_kernel",
        "a private kernel",
        lambda node: node.metadata.kernelspec.update(name="my-venv"),
    ),
    ("python3_kernel", "no kernel", lambda node: node.metadata.pop("kernelspec")),
    (
        "python3_kernel",
        "a Python version",
        lambda node: node.metadata.language_info.update(version="3.12.1"),
    ),
    ("unique_cell_ids", "one id twice", lambda node: example.find(node, "more").update(id="text")),
    (
        "unique_cell_ids",
        "an impossible id",
        lambda node: example.find(node, "more").update(id="a b"),
    ),
    ("unique_cell_ids", "no id", lambda node: example.find(node, "more").pop("id")),
    ("only_known_metadata", "an editor's metadata", metadata("values", collapsed=True)),
    (
        "only_known_metadata",
        "Colab's metadata",
        lambda node: node.metadata.update(colab={"provenance": []}),
    ),
    (
        "only_known_metadata",
        "folded in Colab and open on the site",
        metadata("values", cellView="form"),
    ),
    (
        "only_known_metadata",
        "folded on the site and open in Colab",
        lambda node: example.find(node, "figure").metadata.pop("cellView"),
    ),
    (
        "only_known_metadata",
        "folded on the site and open in Jupyter",
        metadata("check", jupyter={"source_hidden": False}),
    ),
    (
        "only_known_metadata",
        "an unknown figure option",
        described(image={"alt": example.FIGURE["image"]["alt"], "scale": 2}),
    ),
    ("only_known_tags", "nbval's skip", metadata("values", tags=["nbval-skip"])),
    ("only_known_tags", "nbval's ignore", metadata("values", tags=["nbval-ignore-output"])),
    ("only_known_tags", "an unknown tag", metadata("values", tags=["remove_cell"])),
    ("only_known_tags", "one tag twice", metadata("values", tags=["hide-input", "hide-input"])),
    (
        "only_code_and_markdown",
        "a raw cell",
        lambda node: node.cells.insert(5, nbformat.v4.new_raw_cell("x")),
    ),
    (
        "only_code_and_markdown",
        "an attachment",
        lambda node: example.find(node, "more").update(attachments={"a.png": {"image/png": ""}}),
    ),
    (
        "only_code_and_markdown",
        "an empty cell",
        lambda node: node.cells.append(nbformat.v4.new_code_cell(" ")),
    ),
    (
        "run_from_top_to_bottom",
        "cleared counts",
        lambda node: example.find(node, "values").update(execution_count=None),
    ),
    (
        "run_from_top_to_bottom",
        "run out of order",
        lambda node: example.find(node, "values").update(execution_count=9),
    ),
    (
        "small_file",
        "too large a file",
        output_of("figure", image__svg_plus_xml="<svg>" + "x" * 1_000_000),
    ),
    (
        "outputs_are_stored",
        "a print without output",
        lambda node: example.find(node, "values").update(outputs=[]),
    ),
    (
        "outputs_are_stored",
        "a print in a loop without output",
        lambda node: example.find(node, "mistake").update(
            source="for i in range(3):\n    print(i)\nassert 1 < abs(x[0])"
        ),
    ),
    (
        "outputs_are_stored",
        "hardly any output",
        lambda node: [example.find(node, f"stub-{i}").update(outputs=[]) for i in (1, 2, 3)],
    ),
    (
        "no_errors_and_no_stderr",
        "a warning",
        lambda node: example.find(node, "values").outputs.append(STDERR),
    ),
    (
        "no_errors_and_no_stderr",
        "a traceback",
        lambda node: example.find(node, "values").outputs.append(ERROR),
    ),
    *[
        ("nothing_unstable", f"{text!r}", shows("values", text))
        for text in (
            "\x1b[31mred\x1b[0m",
            "10%\r100%",
            "100%|████| 20/20",
            "loss 2.3 | 31.0it/s",
            "<function wave at 0x7f11>",
            "<Figure size 640x480 with 1 Axes>",
            "<object object at 0x7f>",
            "[<matplotlib.lines.Line2D at 0x7f10c0>]",
            "Text(0.5, 0, 'x')",
            "<class 'int'>",
            "tensor(1., grad_fn=<AddBackward0>)",
            "np.float64(0.5)",
            "[np.int64(3), np.int64(4)]",
            "np.True_",
            "took 3.1 s: 3.1 seconds",
            "12.5 ms",
            "12.5ms per loop",
            "12:30:59",
            "Wall time: 1",
            "2026-01-31",
            "torch 2.11.0+cpu",
            "Python 3.12",
            "numpy version 2",
            "numpy==2",
            "saved in /tmp/xyz",
            "'/home/me/x.py'",
            "C:\\Users\\x",
            "site-packages/x.py",
            "UserWarning: careful",
        )
    ],
    ("approximate_values_are_checked", "no number behind ≈", shows("spread", "spread ≈ 0.30")),
    ("approximate_values_are_checked", "a word behind ≈", shows("spread", "spread ≈nan")),
    (
        "approximate_values_are_checked",
        "nothing asserted",
        source("spread", "\nassert 0.2 < wave.std() < 0.4", ""),
    ),
    (
        "approximate_values_are_checked",
        "a check, but further below",
        lambda node: [
            source("spread", "\nassert 0.2 < wave.std() < 0.4", "")(node),
            node.cells.insert(node.cells.index(example.find(node, "exercises")), FAR_CHECK),
        ],
    ),
    ("only_known_kinds", "an unknown kind", output_of("stub-1", application__json={"a": 1})),
    (
        "only_known_kinds",
        "no PNG beside the SVG",
        lambda node: example.find(node, "figure").outputs[0].data.pop("image/png"),
    ),
    (
        "only_known_kinds",
        "a picture without SVG",
        lambda node: example.find(node, "figure").outputs[0].data.pop("image/svg+xml"),
    ),
    (
        "only_known_kinds",
        "a picture without text",
        lambda node: example.find(node, "figure").outputs[0].data.pop("text/plain"),
    ),
    (
        "only_known_kinds",
        "a random id",
        output_of("stub-1", text__html="<div id='4f1c2a9b-5d3e-4f1c-8a9b-5d3e4f1c2a9b'>"),
    ),
    (
        "figures_are_described",
        "no description",
        lambda node: example.find(node, "figure").metadata.pop("mystnb"),
    ),
    (
        "figures_are_described",
        "no name",
        described(figure={"caption": example.FIGURE["figure"]["caption"]}),
    ),
    (
        "figures_are_described",
        "another chapter's name",
        described(figure={**example.FIGURE["figure"], "name": "fig-02-wave"}),
    ),
    (
        "figures_are_described",
        "one name twice",
        lambda node: node.cells.append({**example.find(node, "figure"), "id": "figure-2"}),
    ),
    (
        "figures_are_described",
        "no caption",
        described(figure={"name": "fig-01-wave", "caption": ""}),
    ),
    (
        "figures_are_described",
        "a caption that is no sentence",
        described(figure={"name": "fig-01-wave", "caption": "A wave"}),
    ),
    ("figures_are_described", "no alternative text", described(image={})),
    (
        "figures_are_described",
        "a file name for alternative text",
        described(image={"alt": "a plot of the wave in wave.png"}),
    ),
    (
        "figures_are_described",
        "the caption for alternative text",
        described(
            figure={"name": "fig-01-wave", "caption": "One period of the sine wave."},
            image={"alt": "One period of the sine wave"},
        ),
    ),
    ("figures_are_described", "too few words", described(image={"alt": "a wave"})),
    (
        "figures_are_described",
        "image of",
        described(image={"alt": "Image of a curve that rises and falls"}),
    ),
    (
        "figures_are_described",
        "LaTeX in the alternative text",
        described(image={"alt": "The curve of $\\sin(x)$ rises and falls"}),
    ),
    (
        "figures_are_described",
        "the stored picture has no alternative text",
        lambda node: example.find(node, "figure").outputs[0].update(metadata={}),
    ),
    (
        "figures_are_described",
        "two figures in a cell",
        lambda node: example.find(node, "figure").outputs.append(
            example.find(node, "figure").outputs[0]
        ),
    ),
    (
        "figures_are_described",
        "a description without a figure",
        metadata("values", mystnb=example.FIGURE),
    ),
    (
        "drawn_data_are_asserted",
        "asserts about other data only",
        lambda node: example.find(node, "figure").update(
            source="# @title Draw\nfigures.lines(a, {}, xlabel='x', ylabel='y')"
        ),
    ),
    (
        "drawn_data_are_asserted",
        "an assert about a builtin",
        lambda node: [
            example.find(node, "figure").update(
                source="# @title Draw\nfigures.lines(a, {'a': len(a)}, xlabel='x', ylabel='y')"
            ),
            adds("mistake", "assert len(node)")(node),
        ],
    ),
    ("plain_python", "a magic", adds("values", "%timeit np.sin(x)")),
    ("plain_python", "a shell command", adds("values", "!ls")),
    ("plain_python", "a syntax error", adds("values", "x = = 1")),
    (
        "no_trailing_semicolon",
        "at the end of the cell",
        source("figure", 'ylabel="sine")', 'ylabel="sine");'),
    ),
    (
        "no_trailing_semicolon",
        "before a comment",
        source("figure", 'ylabel="sine")', 'ylabel="sine");  # no output'),
    ),
    (
        "no_trailing_semicolon",
        "on a line in the middle",
        source("values", "highest = wave.argmax()", "highest = wave.argmax();"),
    ),
    (
        "only_course_imports",
        "a package that Colab may lack",
        source("imports", "import numpy as np", "import numpy as np\nimport einops"),
    ),
    (
        "only_course_imports",
        "glue",
        source("imports", "import numpy as np", "import numpy as np\nfrom myst_nb import glue"),
    ),
    (
        "only_course_imports",
        "a clock",
        source("imports", "import numpy as np", "import numpy as np\nimport time"),
    ),
    (
        "only_course_imports",
        "the network",
        source(
            "imports",
            "import numpy as np",
            "import numpy as np\nfrom urllib.request import urlopen",
        ),
    ),
    ("only_course_imports", "an import by a call", adds("values", '__import__("scipy")')),
    ("imports_stand_together", "a second cell", adds("values", "import math")),
    (
        "imports_stand_together",
        "too late",
        lambda node: example.find(node, "imports").update(source="x = 1"),
    ),
    (
        "no_pyplot",
        "import matplotlib.pyplot",
        source(
            "imports", "import numpy as np", "import matplotlib.pyplot as plt\nimport numpy as np"
        ),
    ),
    (
        "no_pyplot",
        "from matplotlib import pyplot",
        source(
            "imports", "import numpy as np", "from matplotlib import pyplot\nimport numpy as np"
        ),
    ),
    ("no_pyplot", "plt.show", adds("values", "plt.show()")),
    *[
        (
            "local_seeds",
            code,
            lambda node, code=code: [
                source(
                    "imports",
                    "import numpy",
                    "import random\nimport torch\nfrom numpy import random as nr\nimport numpy",
                )(node),
                adds("values", code)(node),
            ],
        )
        for code in (
            "np.random.seed(0)",
            "np.random.normal(size=3)",
            "np.random.default_rng()",
            "nr.rand(3)",
            "random.random()",
            "random.seed(0)",
            "random.Random()",
            "torch.manual_seed(0)",
            "torch.cuda.manual_seed_all(0)",
            "torch.randn(3)",
            "torch.randint(5, (3,))",
            "torch.empty(3).normal_()",
            "torch.nn.init.normal_(x)",
        )
    ],
    (
        "nothing_is_exempt_from_comparison",
        "ignore",
        adds("values", "# NBVAL_IGNORE_OUTPUT"),
    ),
    (
        "nothing_is_exempt_from_comparison",
        "skip",
        adds("values", "#NBVAL_SKIP"),
    ),
    (
        "warnings_are_not_silenced",
        "warnings",
        adds("imports", 'import warnings\nwarnings.filterwarnings("ignore")'),
    ),
    ("warnings_are_not_silenced", "NumPy", adds("imports", 'np.seterr(all="ignore")')),
    (
        "enough_is_asserted",
        "two cells",
        lambda node: [without(name)(node) for name in ("check", "spread", "mistake")],
    ),
    *[
        ("assertions_can_fail", code, adds("values", code))
        for code in (
            "assert True",
            "assert 1",
            "assert 'text'",
            "assert f'{x}'",
            "assert (wave.max() < 1, 'too large')",
            "assert [wave.max() < 0]",
            "assert wave.max() < 0 or True",
            "assert not False",
            "assert (v < 0 for v in wave)",
            "assert wave == wave",
            "assert x[0] is x[0]",
            "assert np.allclose(wave, wave)",
            "np.testing.assert_allclose(wave, wave)",
            "assert len(x) >= 0",
            "assert np.allclose",
            "assert exercises.check_gap",
            "assert 1 < 2",
            "assert lambda: False",
            "assert abs(x) >= 0",
        )
    ],
    *[
        ("plain_markdown", text, markdown(text))
        for text in (
            ":::{note}\nText\n:::",
            "```{note}\nText\n```",
            "````{note}\nText\n````",
            "{ref}`base`",
            "See {doc}`other`.",
            "{cite:p}`vaswani`",
            "(the-label)=",
            "% comment",
            "+++",
            "A <b>bold</b> word.",
            "<details open><summary>Answer</summary>\n\nText.\n\n</details>",
            "<details><summary>Answer</summary>\nText.\n\n</details>",
            "<details><summary>Answer</summary>\n\nText.\n</details>",
            "<details><summary>Answer</summary>\n\nText.",
            "Text.\n\n</details>",
            "<details><summary>A <b>bold</b> answer</summary>\n\nText.\n\n</details>",
            "<details>\n<summary>Answer</summary>\n\nText.\n\n</details>",
            "<br>",
            "<!-- comment -->",
            '<img src="x.png">',
            "![alt](x.png)",
            "![alt](https://example.org/x.png)",
            "![alt](attachment:x.png)",
            "Text.[^1]",
            "{{ name }}",
            "[text](https://a.org){.class}",
            "`code`{.python}",
            "Term\n: meaning",
            "~~gone~~",
            "\\begin{align}\nx\n\\end{align}",
            "\\(x\\)",
            "See https://example.org for it.",
            "Heading\n=======",
            "TODO: more",
            "Coming soon.",
            "Good \U0001f600",
        )
    ],
    ("formulas_are_closed", "one dollar", markdown("The value is $x.")),
    ("formulas_are_closed", "two dollars", markdown("$$x = 1")),
    ("formulas_are_closed", "a macro", markdown("$\\newcommand{\\R}{r} \\R$")),
    ("formulas_are_closed", "a label", markdown("$$x \\label{eq}$$")),
    ("formulas_are_closed", "a bar in a table", markdown("| a | b |\n|---|---|\n| $|x|$ | 1 |")),
    ("headings_are_plain", "no title", source("title", "# A small chapter\n\n", "")),
    ("headings_are_plain", "two titles", markdown("# Another title")),
    (
        "headings_are_plain",
        "a title below",
        lambda node: node.cells.insert(0, nbformat.v4.new_markdown_cell("Text.")),
    ),
    ("headings_are_plain", "a level skipped", markdown("#### Deep")),
    ("headings_are_plain", "a formula", markdown("### The value $x$")),
    ("headings_are_plain", "a full stop", markdown("### The value.")),
    ("headings_are_plain", "two alike", markdown("### Same\n\n### Same")),
    ("links_resolve", "no such notebook", markdown("[next](02_other.ipynb)")),
    ("links_resolve", "no such page", markdown("[base](../book/base.md)")),
    ("links_resolve", "no such heading here", markdown("[there](#nothing)")),
    ("links_resolve", "no such heading there", markdown("[there](../book/notation.md#nothing)")),
    ("links_resolve", "a page that is not on the site", markdown("[settings](../_config.yml)")),
    ("links_resolve", "an insecure address", markdown("[there](http://example.org)")),
    ("links_resolve", "a link without text", markdown("[ ](https://example.org)")),
    (
        "own_address",
        "another repository",
        markdown(
            "[x](https://mybinder.org/v2/gh/other/name/main?urlpath=lab/tree/notebooks/01_small.ipynb)"
        ),
    ),
    (
        "own_address",
        "another branch",
        markdown(
            "[x](https://colab.research.google.com/github/owner/name/blob/master/notebooks/01_small.ipynb)"
        ),
    ),
    (
        "own_address",
        "a path that does not exist",
        markdown("[x](https://mybinder.org/v2/gh/owner/name/main?urlpath=lab/tree/01_small.ipynb)"),
    ),
    (
        "own_address",
        "a form that opens nothing",
        markdown(
            "[x](https://mybinder.org/v2/gh/owner/name/main?filepath=notebooks/01_small.ipynb)"
        ),
    ),
    (
        "own_address",
        "a file of the repository that does not exist",
        markdown("[x](https://github.com/owner/name/blob/main/sinpe/nothing.py)"),
    ),
    ("opens_with_title_and_launch_links", "no launch links", source("title", "Run it:", "Try it:")),
    (
        "opens_with_title_and_launch_links",
        "another notebook's links",
        source("title", "01_small.ipynb) ·", "02_small.ipynb) ·"),
    ),
    (
        "opens_with_title_and_launch_links",
        "no product",
        source("title", "Say in one sentence what the reader will have after it.\n\n", ""),
    ),
    (
        "opens_with_title_and_launch_links",
        "code first",
        lambda node: node.cells.pop(0) and node.cells.pop(0),
    ),
    ("says_what_it_teaches", "no goals", source("goals", "You will be able to", "Goals")),
    (
        "says_what_it_teaches",
        "two goals",
        source("goals", "- test that it lies between −1 and 1.\n", ""),
    ),
    (
        "says_what_it_teaches",
        "no need",
        source("goals", "**You need** what earlier chapters gave, by name.", ""),
    ),
    ("says_what_it_teaches", "no time to run", source("goals", ", about 3 seconds to run", "")),
    ("set_up_cell", "missing", without("setup")),
    ("set_up_cell", "another address", source("setup", "owner/name", "owner/other")),
    (
        "set_up_cell",
        "shown on the site",
        lambda node: example.find(node, "setup").update(metadata={}),
    ),
    (
        "set_up_cell",
        "twice",
        lambda node: node.cells.append({**example.find(node, "setup"), "id": "again"}),
    ),
    (
        "set_up_cell",
        "too late",
        lambda node: node.cells.insert(1, nbformat.v4.new_markdown_cell("Text.")),
    ),
    ("closes_like_every_chapter", "no recap", without("recap")),
    ("closes_like_every_chapter", "no questions", without("test")),
    (
        "closes_like_every_chapter",
        "another order",
        lambda node: node.cells.append(node.cells.pop(-2)),
    ),
    (
        "closes_like_every_chapter",
        "a section behind",
        lambda node: node.cells.append(nbformat.v4.new_markdown_cell("## One more thing")),
    ),
    ("closes_like_every_chapter", "no sections of its own", without("more")),
    ("lets_the_reader_predict", "no prompt", source("text", "**Predict** where", "Find where")),
    ("mistakes_have_a_check", "no check", without("mistake")),
    (
        "real_code_is_linked",
        "no link",
        lambda node: example.find(node, "real").update(source="## In real code\n\nA file."),
    ),
    (
        "exercises_can_be_done",
        "two exercises",
        lambda node: [without(f"{kind}-3")(node) for kind in ("exercise", "stub", "solution")],
    ),
    ("exercises_can_be_done", "numbered wrongly", source("exercise-2", "Exercise 2", "Exercise 3")),
    ("exercises_can_be_done", "no solution", without("solution-2")),
    (
        "exercises_can_be_done",
        "code before the first",
        lambda node: node.cells.insert(
            node.cells.index(example.find(node, "exercise-1")), nbformat.v4.new_code_cell("x = 1")
        ),
    ),
    (
        "exercises_can_be_done",
        "a stub without a check",
        source("stub-1", "exercises.check_gap(gap_1)", "gap_1(1)"),
    ),
    (
        "exercises_can_be_done",
        "a stub that is filled in",
        source("stub-1", "return ...", "return 1"),
    ),
    (
        "exercises_can_be_done",
        "a stub that was attempted",
        output_of("stub-1", text__plain="Correct: matches"),
    ),
    (
        "exercises_can_be_done",
        "a stub that shows nothing",
        lambda node: example.find(node, "stub-1").update(outputs=[]),
    ),
    (
        "exercises_can_be_done",
        "a solution that shows",
        lambda node: example.find(node, "solution-1").metadata.update(tags=[]),
    ),
    (
        "exercises_can_be_done",
        "a solution without prompt",
        lambda node: example.find(node, "solution-1").metadata.pop("mystnb"),
    ),
    (
        "exercises_can_be_done",
        "a solution without title",
        source("solution-1", "# @title Solution\n", ""),
    ),
    (
        "exercises_can_be_done",
        "a solution without a check",
        source("solution-1", "assert exercises.check_gap(gap_1)", "assert gap_1(0) == 0"),
    ),
    (
        "exercises_can_be_done",
        "a solution with another check",
        source("solution-1", "check_gap", "check_other"),
    ),
    (
        "exercises_can_be_done",
        "a solution that ends in a print",
        adds("solution-1", "print(gap_1(1))"),
    ),
    (
        "solutions_stand_in_exercises",
        "a solution above",
        lambda node: node.cells.insert(5, {**example.find(node, "solution-1"), "id": "early"}),
    ),
    (
        "recap_mirrors_the_goals",
        "one thing less",
        source("recap", "\n- It is largest at a quarter turn.", ""),
    ),
    (
        "further_reading_is_dated_and_linked",
        "no link",
        source("reading", "](https://arxiv.org/abs/1706.03762)", "]"),
    ),
    ("further_reading_is_dated_and_linked", "no year", source("reading", "(2017)", "")),
    ("further_reading_is_dated_and_linked", "no list", source("reading", "- [", "[")),
    ("every_cell_has_its_kind", "two kinds", metadata("check", tags=["hide-input", "hide-cell"])),
    ("every_cell_has_its_kind", "the set-up's kind", metadata("spread", tags=["remove-cell"])),
    (
        "every_cell_has_its_kind",
        "a figure without words",
        source("figure", "# @title Draw the wave\n", ""),
    ),
    (
        "every_cell_has_its_kind",
        "a full stop",
        source("figure", "Draw the wave", "Draw the wave."),
    ),
    ("every_cell_has_its_kind", "no description", source("check", "# @title Check: ", "# ")),
    ("every_cell_has_its_kind", "another description", source("check", "Check: the", "The")),
    (
        "every_cell_has_its_kind",
        "a check of nothing",
        lambda node: example.find(node, "check").update(source="# @title Check: all\nx = 1"),
    ),
    ("every_cell_has_its_kind", "a check that prints", shows("check", "all is well")),
    (
        "every_cell_has_its_kind",
        "a table that does not show",
        lambda node: example.find(node, "numbers").update(outputs=[]),
    ),
    ("every_cell_has_its_kind", "imports in view", metadata("imports", tags=[])),
    (
        "every_cell_has_its_kind",
        "imports by another name",
        source("imports", "Imports", "Packages"),
    ),
    ("ideas_are_few_and_small", "too many ideas", more_cells),
    ("ideas_are_few_and_small", "an idea too long", adds("values", "\n".join(["x = 1"] * 11))),
    (
        "ideas_are_few_and_small",
        "ideas too long on the whole",
        lambda node: [adds(name, "\n".join(["x = 1"] * 5))(node) for name in ("values", "spread")],
    ),
    ("ideas_are_few_and_small", "a check too long", adds("check", "\n".join(["x = 1"] * 23))),
    ("ideas_are_few_and_small", "a line too long", adds("solution-1", f"y = {'1' * 85}")),
    ("one_assert_an_idea", "two", adds("spread", "assert wave.max() == 1")),
    (
        "one_assert_an_idea",
        "one of NumPy's",
        adds("spread", "np.testing.assert_allclose(wave.max(), 1)"),
    ),
    (
        "ideas_need_no_check",
        "a name from a check",
        lambda node: [
            adds(name, code)(node)
            for name, code in (("check", "top = wave.max()"), ("spread", "print(top)"))
        ],
    ),
    *[
        (
            "ideas_show_something_of_their_own",
            code,
            lambda node, code=code: example.find(node, "values").update(source=code),
        )
        for code in (
            'print("the wave is largest in the middle")',
            'print(f"the wave is largest")',
            'for value in wave:\n    assert value <= 1\nprint("all is well")',
            "print()",
        )
    ],
    ("results_are_tabulated", "columns", shows("values", "a   1  2\nbc  3  4\nd   5  6\n")),
    *[
        ("drawings_are_tested_elsewhere", code, adds("check", code))
        for code in (
            "assert fig.axes[0].lines",
            "assert line.get_ydata()[0] == 0",
            "assert bar.get_height() > 0",
            "assert image.get_array() is not None",
        )
    ],
    (
        "opens_with_question_answer_and_picture",
        "no question",
        source("answer", "Where is a sine wave largest?", "A sine wave."),
    ),
    ("opens_with_question_answer_and_picture", "no box", source("answer", "> **In", "**In")),
    (
        "opens_with_question_answer_and_picture",
        "too long an answer",
        source("answer", "> larger nowhere.", "> larger nowhere. One. Two."),
    ),
    (
        "opens_with_question_answer_and_picture",
        "too short an answer",
        source("answer", ", about 1.57. Its value there is 1, and it is\n> larger nowhere", ""),
    ),
    ("opens_with_question_answer_and_picture", "no picture", without("figure")),
    (
        "opens_with_question_answer_and_picture",
        "a section first",
        lambda node: node.cells.insert(
            node.cells.index(example.find(node, "answer")), nbformat.v4.new_markdown_cell("## A")
        ),
    ),
    (
        "opens_with_question_answer_and_picture",
        "the picture in a section",
        lambda node: node.cells.insert(
            node.cells.index(example.find(node, "figure")),
            nbformat.v4.new_markdown_cell("## A\n\nText."),
        ),
    ),
    (
        "predictions_are_answered_out_of_sight",
        "no answer",
        source("text", "\n\n<details><summary>Answer</summary>\n\nAt a quarter turn", "\n\nAt"),
    ),
    (
        "predictions_are_answered_out_of_sight",
        "the answer before the question",
        lambda node: example.find(node, "text").update(
            source="<details><summary>Answer</summary>\n\nA.\n\n</details>\n\n**Predict** it."
        ),
    ),
    (
        "predictions_are_answered_out_of_sight",
        "two questions and one answer",
        source("text", "**Predict** where", "**Predict** something.\n\n**Predict** where"),
    ),
    (
        "predictions_are_answered_out_of_sight",
        "asserted in the next cell",
        adds("values", "assert highest == 50"),
    ),
    ("readers_test_themselves", "two questions", source("test", "**3.** Does", "Does")),
    (
        "readers_test_themselves",
        "no question",
        source("test", "Where is a sine wave largest?", "A."),
    ),
    (
        "readers_test_themselves",
        "an answer in view",
        source("test", "<details><summary>Answer</summary>\n\nIt is 1.\n\n</details>", "It is 1."),
    ),
    ("fits_one_sitting", "too many words", markdown("Word after word. " * 1200)),
    ("fits_one_sitting", "a wall", markdown("Word after word. " * 130)),
    (
        "fits_one_sitting",
        "a dump",
        lambda node: node.cells.__setitem__(
            slice(5, 5), [{**MANY[i], "source": "x\n" * 12} for i in range(10)]
        ),
    ),
    ("fits_one_sitting", "another time", source("goals", "2 minutes", "12 minutes")),
]


@pytest.fixture
def course(tmp_path):
    return example.course(tmp_path)


def changed(course, change=lambda node: None):
    """The example notebook after a change, which may also return the file's text."""
    node = example.nodes(course)
    text = change(node)
    return Notebook(
        example.NAME, text if str(text).startswith("{\n") else example.text_of(node), course
    )


@pytest.mark.parametrize("rule", RULES)
def test_a_good_notebook_keeps_the_rule(course, rule):
    assert list(RULES[rule](course.notebook(example.NAME))) == []


@pytest.mark.parametrize(
    ("rule", "change"),
    [pytest.param(rule, change, id=f"{rule}: {what}") for rule, what, change in BROKEN],
)
def test_the_rule_refuses(course, rule, change):
    problems = list(RULES[rule](changed(course, change)))
    assert problems
    assert all(len(problem) > 15 for problem in problems)  # a sentence, not a mark


def test_every_rule_has_a_broken_example():
    assert {rule for rule, _, _ in BROKEN} == set(RULES)


GOOD = (
    [
        ("nothing_unstable", shows("values", text))
        for text in (
            "4 s of 10",
            "ratio 0:10",
            "bits 0x3f800000",
            "§3.5 of the paper",
            "values 1.5, 2.5",
            "array([1., 2.])",
            "numpy 0.8415  torch 0.8415",
            "a < b > c",
            "50%",
            "2 min, 3 max",
        )
    ]
    + [
        (
            "local_seeds",
            lambda node, code=code: [
                source("imports", "import numpy", "import random\nimport torch\nimport numpy")(
                    node
                ),
                adds("values", code)(node),
            ],
        )
        for code in (
            "np.random.default_rng(0).normal()",
            "random.Random(0).random()",
            "torch.Generator().manual_seed(0)",
            "torch.randn(3, generator=g)",
            SEEDS,
            "x.normal_(generator=g)",
        )
    ]
    + [
        ("assertions_can_fail", adds("values", code))
        for code in (
            "assert np.allclose(wave, x)",
            "assert wave.all()",
            "assert x is not None",
            "assert np.allclose(wave, wave[::-1]) or x[0]",
            "assert len(x) >= 1",
            "assert exercises.check(x)",
        )
    ]
    + [
        ("plain_markdown", markdown(text))
        for text in (
            "`<b>` and `{x}` and ``{x}``",
            "```python\nx = '<b>'  # TODO\n```",
            "$a<b$ and $c>d$",
            "a < b and c > d",
            "<https://example.org>",
            "[x](https://a.org/b_(c))",
            "| a | b |\n|---|---|\n| 1 | 2 |",
            "$\\begin{matrix}1\\end{matrix}$",
            "$$\n\\begin{aligned}x\\end{aligned}\n$$",
            "3 ~ 4",
            "<details><summary>Answer</summary>\n\nThe value $a<b$.\n\n$$x$$\n\n</details>",
            "```\n</details>\n```",
            "- a list\n- of two",
            "100 % of it",
        )
    ]
    + [
        ("formulas_are_closed", markdown(text))
        for text in (
            "`$`",
            "It costs 5 \\$.",
            "$$\na = 1 \\tag{1}\n$$",
            "| $\\lvert x\\rvert$ | $y$ |",
        )
    ]
    + [
        ("headings_are_plain", markdown("### Why `code` is fine\n\n```\n# not a heading\n```")),
        (
            "links_resolve",
            markdown(
                "[a](01_small.ipynb#a-claim-in-words) [b](../book/notation.md#the-label)"
                " [c](#a-second-section)"
            ),
        ),
        ("no_trailing_semicolon", adds("values", "a = 1; x = 2")),
        ("exercises_can_be_done", adds("solution-1", "print(gap_1(1))\nassert gap_1(0) == 0")),
        ("outputs_are_stored", adds("mistake", "def f():\n    print(1)")),
        (
            "approximate_values_are_checked",
            lambda node: [
                source("spread", "\nassert 0.2 < wave.std() < 0.4", "")(node),
                node.cells.insert(node.cells.index(example.find(node, "spread")) + 1, FAR_CHECK),
            ],
        ),
        ("every_cell_has_its_kind", metadata("values", tags=["raises-exception"])),
        ("ideas_are_few_and_small", adds("spread", "\n\n" * 20)),
        (
            "predictions_are_answered_out_of_sight",
            lambda node: [
                node.cells.insert(
                    node.cells.index(example.find(node, "values")),
                    nbformat.v4.new_markdown_cell("Text."),
                ),
                adds("values", "assert highest == 50")(node),
            ],
        ),
        (
            "drawings_are_tested_elsewhere",
            adds("check", "figures.lines(x, {}, xlabel='x', ylabel='y')"),
        ),
    ]
    + [
        ("results_are_tabulated", shows("values", text))
        for text in ("a  b\nc  d", "[[0.1  0.2]\n [0.3  0.4]\n [0.5  0.6]]", "one\ntwo\nthree")
    ]
    + [
        ("ideas_show_something_of_their_own", adds("values", code))
        for code in ("print('and so it is')", "print(*wave)", "x")
    ]
)


@pytest.mark.parametrize(("rule", "change"), GOOD)
def test_the_rule_raises_no_false_alarm(course, rule, change):
    assert list(RULES[rule](changed(course, change))) == []


def test_the_table_of_contents_is_read_as_written(course):
    assert course.pages == ["book/index", "notebooks/01_small", "book/notation"]
    assert (course.listed, course.stored, course.repository, course.branch) == (
        ["01_small.ipynb"],
        ["01_small.ipynb"],
        "owner/name",
        "main",
    )


def test_a_key_that_stands_twice_in_yaml_is_refused(tmp_path):
    (tmp_path / "x.yml").write_text("a: 1\nb:\n  c: 1\n  c: 2\n")
    with pytest.raises(ValueError, match="'c' stands twice"):
        load_yaml(tmp_path / "x.yml")


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("Why 10000?", "why-10000"),
        ("Exercise 1: a wave", "exercise-1-a-wave"),
        ("The `base`, *again*", "the-base-again"),
    ],
)
def test_anchors_are_those_of_the_site(heading, anchor):
    assert slug(heading) == anchor


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("≈1.94 and 2.00", "≈N and 2.00"),
        ("≈1.94, 2.00", "≈N, 2.00"),
        ("≈1.94,2.00", "≈N,2.00"),
        ("≈1,234.5", "≈N"),
        ("≈-1.5e-05", "≈N"),
        ("≈−3%", "≈N%"),
        ("≈1.94.", "≈N."),
        ("≈ 1.94", "≈ 1.94"),
        ("≈nan", "≈nan"),
        ("≈[1.9 2.0]", "≈[1.9 2.0]"),
        ("≈12–15", "≈N–15"),
    ],
)
def test_only_the_number_directly_behind_the_sign_leaves_the_comparison(root, text, left):
    from nbval.plugin import get_sanitize_patterns

    patterns = get_sanitize_patterns((root / "tests" / "nbval.cfg").read_text(encoding="utf-8"))
    for pattern, replacement in patterns:
        text = re.sub(pattern, replacement, text)
    assert text == left
    # the contract and the comparison mean the same by "a number"
    assert any(NUMBER in pattern for pattern, _ in patterns)
