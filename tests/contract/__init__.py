"""What every notebook promises. Each rule looks at one notebook and yields a sentence for each
thing to put right.
"""

from contract import code, form, kinds, outputs, prose, spine
from contract.notebook import Course, Notebook, load_yaml

RULES = {
    rule.__name__: rule
    for module in (form, outputs, code, prose, spine, kinds)
    for rule in module.RULES
}

__all__ = ["RULES", "Course", "Notebook", "load_yaml"]
