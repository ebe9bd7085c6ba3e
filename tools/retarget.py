"""Move the course to another GitHub repository: rewrite every address that contains the present
one.

    python tools/retarget.py owner/name

The present address is repository.url in _config.yml. What follows from it are the launch links and
set-up cells of the notebooks, the links of README.md, CONTRIBUTING.md, CITATION.cff and book/, and
the address of the published site (owner.github.io/name). Only addresses are rewritten, wherever
the names of owner and repository also stand, as words or inside a stored picture. Moving back
restores the same bytes.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MADE = re.compile(
    r"\.git$|\.venv|_build$|build$|dist$|node_modules$|__pycache__$|\.ipynb_checkpoints$|\.\w+_cache$|\.hypothesis$|.*\.egg-info$"
)
# What stands before owner/name; git@github.com:owner/name is an address too.
HOSTS = (
    r"github\.com[/:]|raw\.githubusercontent\.com/|mybinder\.org/v2/gh/"
    r"|colab\.research\.google\.com/github/"
)
OWNER = re.compile(r"(?!-)[A-Za-z0-9-]{1,39}(?<!-)")
NAME = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}(?<!\.git)")


def present(root):
    """owner/name as _config.yml has it."""
    found = re.search(
        r"^repository:\n(?:  .*\n)*?  url: https://github\.com/([\w.-]+/[\w.-]+)$",
        (root / "_config.yml").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    if not found:
        raise SystemExit(
            "_config.yml has no line `  url: https://github.com/owner/name` under `repository:`"
        )
    return found.group(1)


def check(repository):
    """Refuse what is not the name of a GitHub repository, or one whose site is published
    elsewhere.
    """
    owner, _, name = repository.partition("/")
    if not OWNER.fullmatch(owner) or not NAME.fullmatch(name):
        raise SystemExit(
            f"REPO={repository!r} is not owner/name: letters, digits and hyphens, in the name also"
            " . and _"
        )
    if name.lower() == f"{owner.lower()}.github.io":
        raise SystemExit(
            f"REPO={repository!r}: a repository of this name is published at {name}/, not at"
            f" {owner}.github.io/{name}/: choose another name"
        )


def mentions(repository):
    """A pattern for the addresses of owner/name and of its site, and not for those of longer names
    that begin or end like it. Its groups are what stands before the owner, and between the two.
    """
    owner, name = map(re.escape, repository.split("/"))
    return re.compile(
        rf"(?P<before>\b(?:{HOSTS})|https?://(?={owner}\.))"
        rf"{owner}(?P<between>(?:\.github\.io)?/){name}(?![\w-])(?!\.(?!git\b)\w)"
    )


def files(root):
    """Every text file of the repository that is written by hand or stored: {path: text}."""
    for path in sorted(root.iterdir()):
        if MADE.match(path.name) or path.is_symlink():
            continue
        if path.is_dir():
            yield from files(path)
        elif path.is_file():
            try:
                yield path, path.read_bytes().decode("utf-8")
            except UnicodeDecodeError:
                continue


def retarget(root, repository):
    """Rewrite all files below root. Returns the paths that changed."""
    check(repository)
    old, (owner, name) = present(root), repository.split("/")
    if repository == old:
        return []
    texts = dict(files(root))
    taken = [
        str(path.relative_to(root))
        for path, text in texts.items()
        if mentions(repository).search(text)
    ]
    if taken:
        raise SystemExit(
            f"REPO={repository!r} is already linked to in {', '.join(taken)}: afterwards nothing"
            " could tell the two apart"
        )
    changed = []
    for path, text in texts.items():
        moved = mentions(old).sub(rf"\g<before>{owner}\g<between>{name}", text)
        if moved != text:
            path.write_bytes(moved.encode("utf-8"))
            changed.append(path)
    return changed


def main(arguments):
    if len(arguments) != 1:
        raise SystemExit("usage: make retarget REPO=owner/name")
    old = present(ROOT)
    changed = retarget(ROOT, arguments[0])
    for path in changed:
        print(path.relative_to(ROOT))
    print(
        f"{len(changed)} files moved from {old} to {arguments[0]}"
        if changed
        else f"nothing to do: the course is at {old}"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
