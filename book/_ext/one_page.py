"""Sphinx's builder of a single page, from which the PDF is printed, with links that work: in its
own, sections of the same name in two chapters share an address, which leads to no file.
"""

from docutils import nodes
from sphinx import addnodes
from sphinx.builders.singlehtml import SingleFileHTMLBuilder


def address(document, place):
    return f"{document}--{place}".replace("/", "-")


class OnePage(SingleFileHTMLBuilder):
    """Every place has an address with its document in it beside the one that it had."""

    def fix_refuris(self, tree):
        for part in tree.findall(addnodes.start_of_file):
            document = part["docname"]
            for node in list(part.findall(nodes.Element)):
                ids = node.get("ids")
                if ids and not isinstance(node, addnodes.start_of_file):
                    node["ids"] = [*ids, *(address(document, place) for place in ids)]
                if "refid" in node and isinstance(node, nodes.reference):
                    node["refid"] = address(document, node["refid"])
        for node in tree.findall(nodes.reference):
            target, _, place = node.get("refuri", "").partition("#document-")[2].partition("#")
            if place:
                node["refuri"] = "#" + address(target, place)


def setup(app):
    app.add_builder(OnePage, override=True)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
