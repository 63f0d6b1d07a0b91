"""python3 -m dprelease.pack [FOLDER]: makes one executable file of a plugin, the SDK inside.

The folder holds __main__.py, which calls serve, and what it imports. The file is a zip archive that Python runs. The same
sources make the same bytes, so the digest in a catalog can be made again by anybody."""

import argparse
import io
import os
import zipfile

KEPT = (".py", ".binpb", ".json", ".txt")


def contents(folder):
    """The files that belong to the plugin, by their names in the archive."""
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "__pycache__")))
        for name in sorted(files):
            if name.endswith(KEPT) and not name.startswith((".", "test_")):
                path = os.path.join(at, name)
                yield os.path.relpath(path, folder), path


def pack(folder, output, python):
    found = dict(contents(folder))
    if "__main__.py" not in found:
        raise SystemExit("%s has no __main__.py; it calls serve" % folder)
    here = os.path.dirname(os.path.abspath(__file__))
    found.update({os.path.join("dprelease", name): path for name, path in contents(here)})
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as z:
        for name in sorted(found):
            info = zipfile.ZipInfo(name)  # of 1980, and not compressed: libraries differ in how they do that
            with open(found[name], "rb") as f:
                z.writestr(info, f.read())
    # -I: nothing of the user's folders and environment; -B: nothing is written.
    with open(output, "wb") as f:
        f.write(b"#!" + python.encode() + b" -IB\n" + archive.getvalue())
    os.chmod(output, 0o755)


def main():
    p = argparse.ArgumentParser(prog="python3 -m dprelease.pack", description="Makes one executable file of a plugin.")
    p.add_argument("folder", nargs="?", default=".", help="the folder with __main__.py; by default this one")
    p.add_argument("-o", "--output", help="the file to write; by default FOLDER/NAME, with the folder's name")
    p.add_argument("--python", default="/usr/bin/python3", help="the interpreter; the sandbox shows it those in /usr only")
    a = p.parse_args()
    folder = os.path.abspath(a.folder)
    output = a.output or os.path.join(folder, os.path.basename(folder))
    pack(folder, output, a.python)
    print("wrote", output)


if __name__ == "__main__":
    main()
