"""Links from chapters to the glossary: the first time that a chapter's prose uses one of its terms.
Only terms that mean nothing else in plain English are linked: those of several words, and a few
names.
"""

import re

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

NAMES = {"equivariant", "NoPE", "RMS", "RoPE", "ulp", "YaRN"}
KEEP_OUT = (nodes.reference, nodes.strong, nodes.literal, nodes.title, nodes.caption, nodes.table)


def linked(document, terms, link):
    """Replace the first use of each term in the paragraphs of a document by link(term, words).
    terms: the spellings of the glossary. A plural counts; a part of a longer word does not.
    """
    wanted = [term for term in terms if " " in term or term in NAMES]
    for term in wanted:
        words = re.compile(rf"(?<![\w-]){re.escape(term)}s?(?![\w-])", re.IGNORECASE)
        for text in document.findall(nodes.Text):
            found = words.search(text.astext())
            if found and _is_prose(text):
                said = text.astext()
                parts = (
                    nodes.Text(said[: found.start()]),
                    link(term, found[0]),
                    nodes.Text(said[found.end() :]),
                )
                text.parent.replace(text, [part for part in parts if part.astext()])
                break


def _is_prose(text):
    node, inside = text.parent, False
    while node is not None:
        if isinstance(node, KEEP_OUT) or "cell_output" in node.get("classes", ()):
            return False
        inside = inside or isinstance(node, nodes.paragraph)
        node = node.parent
    return inside


class LinkTerms(SphinxPostTransform):
    default_priority = 198
    formats = ("html",)

    def run(self, **kwargs):
        page = self.env.docname
        if not page.startswith("notebooks/"):
            return
        terms = {
            name: (target, anchor)
            for name, _, kind, target, anchor, _ in self.env.get_domain("std").get_objects()
            if kind == "term"
        }

        def link(term, words):
            target, anchor = terms[term]
            address = f"{self.app.builder.get_relative_uri(page, target)}#{anchor}"
            return nodes.reference("", words, internal=True, refuri=address, classes=["term"])

        linked(self.document, sorted(terms), link)


def setup(app):
    app.add_post_transform(LinkTerms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
