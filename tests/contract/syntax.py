"""Questions about the code of a cell, answered from its syntax tree."""

import ast


def aliases(tree):
    """{local name: full dotted name} of everything that the code imports."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                found[name.asname or name.name.split(".")[0]] = (
                    name.name if name.asname else name.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                found[name.asname or name.name] = f"{node.module}.{name.name}"
    return found


def dotted(node, known=None):
    """The full dotted name of a Name or Attribute, with import aliases replaced; "" for anything
    else.
    """
    if isinstance(node, ast.Name):
        return (known or {}).get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        start = dotted(node.value, known)
        return f"{start}.{node.attr}" if start else ""
    return ""


def names(node):
    """Every variable that occurs."""
    return {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}


def bound(tree):
    """Every name that the code gives a meaning: by assignment, definition or import."""
    found = {
        child.id
        for child in ast.walk(tree)
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store)
    }
    for child in ast.walk(tree):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            found.add(child.name)
        elif isinstance(child, ast.arg):
            found.add(child.arg)
    return found | set(aliases(tree))


def top_level(tree):
    """Every node that runs with the cell: bodies of functions, classes and lambdas are left out."""
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def prints(tree):
    """Whether the cell prints for certain: a call of print outside functions, conditions and
    handlers.
    """
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call) and dotted(node.func) == "print":
            return True
        if not isinstance(
            node,
            ast.FunctionDef
            | ast.AsyncFunctionDef
            | ast.ClassDef
            | ast.Lambda
            | ast.If
            | ast.IfExp
            | ast.Try
            | ast.While,
        ):
            waiting += ast.iter_child_nodes(node)
    return False


def assertions(tree):
    """The assert statements of the code, and its calls of np.testing.assert_… and
    torch.testing.assert_…
    """
    if tree is None:
        return []
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Assert)
        or (isinstance(node, ast.Call) and ".testing.assert_" in dotted(node.func, aliases(tree)))
    ]


def why_it_cannot_fail(node, imported=()):
    """Why an assertion is true whatever the code above it does; "" if it can fail. imported: names
    of modules.
    """
    if isinstance(node, ast.Call):  # np.testing.assert_allclose(a, a)
        return _compares_with_itself(node)
    if isinstance(node.test, ast.Tuple):
        return "it asserts a tuple, which is always true: remove the parentheses"
    return _always_true(node.test, imported)


def _always_true(test, imported):
    if isinstance(test, ast.Constant):
        return "it asserts a constant" if test.value else ""
    if isinstance(test, ast.JoinedStr | ast.Lambda | ast.GeneratorExp):
        return "it asserts a text, a function or a generator, which is always true"
    if isinstance(test, ast.Tuple | ast.List | ast.Set | ast.Dict):
        return (
            "it asserts a collection, which is true whatever is in it"
            if getattr(test, "elts", None) or getattr(test, "keys", None)
            else ""
        )
    if (
        isinstance(test, ast.Attribute)
        and isinstance(test.value, ast.Name)
        and test.value.id in imported
    ):
        return f"it asserts the function {ast.unparse(test)} and does not call it"
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return (
            "it asserts `not` of a constant"
            if isinstance(test.operand, ast.Constant) and not test.operand.value
            else ""
        )
    if isinstance(test, ast.BoolOp):
        reasons = [_always_true(value, imported) for value in test.values]
        return (
            next(filter(None, reasons), "") if isinstance(test.op, ast.Or) or all(reasons) else ""
        )
    if isinstance(test, ast.Compare):
        return _compare_always_true(test)
    return _compares_with_itself(test) if isinstance(test, ast.Call) else ""


def _compare_always_true(test):
    left, operator, right = test.left, test.ops[0], test.comparators[0]
    if len(test.ops) > 1:
        return ""
    if isinstance(operator, ast.Eq | ast.LtE | ast.GtE | ast.Is) and ast.dump(left) == ast.dump(
        right
    ):
        return "it compares a thing with itself"
    if all(isinstance(side, ast.Constant) for side in (left, right)):
        return "it compares two constants"
    size = isinstance(left, ast.Call) and dotted(left.func).rpartition(".")[2] in {"len", "abs"}
    if (
        size
        and isinstance(operator, ast.GtE)
        and isinstance(right, ast.Constant)
        and right.value == 0
    ):
        return f"{ast.unparse(left)} is never negative"
    return ""


def _compares_with_itself(call):
    comparison = {
        "allclose",
        "array_equal",
        "isclose",
        "equal",
        "assert_allclose",
        "assert_array_equal",
        "assert_close",
        "assert_equal",
    }
    if (
        dotted(call.func).rpartition(".")[2] in comparison
        and len(call.args) >= 2
        and ast.dump(call.args[0]) == ast.dump(call.args[1])
    ):
        return "it compares a thing with itself"
    if (
        dotted(call.func) in {"bool", "all", "any"}
        and len(call.args) == 1
        and isinstance(call.args[0], ast.Constant)
        and call.args[0].value
    ):
        return "it asserts a constant"
    return ""
