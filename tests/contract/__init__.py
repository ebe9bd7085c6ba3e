"""What every notebook promises. Each rule looks at one notebook and yields a sentence for each
thing to put right.
"""

from contract import code, form, kinds, outputs, prose, spine, waiting
from contract.notebook import Course, Notebook, load_yaml


def _named(*modules):
    return {rule.__name__: rule for module in modules for rule in module.RULES}


RULES = _named(form, outputs, code, prose, spine, kinds)
WAITING = _named(form, outputs, code, prose, spine, waiting)


def rules_for(notebook):
    """The rules that a notebook keeps."""
    return WAITING if notebook.waits else RULES


__all__ = ["RULES", "WAITING", "Course", "Notebook", "load_yaml", "rules_for"]
