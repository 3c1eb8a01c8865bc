import configparser
from pathlib import Path

from setuptools import find_packages, setup

ROOMS = ("tools", "agents", "orchestrator", "environments", "evals")
packages = [f"enlist.{p}" for room in ROOMS for p in [room, *(f"{room}.{s}" for s in find_packages(room))]]
points: dict[str, list[str]] = {}
for room in ROOMS:  # each folder lists its own entry points, so that adding one touches one folder
    for file in sorted(Path(room).rglob("entry_points.txt")):
        parser = configparser.ConfigParser(delimiters=("=",))
        parser.optionxform = str
        parser.read(file)
        for group in parser.sections():
            points.setdefault(group, []).extend(f"{k} = {v}" for k, v in parser.items(group))
setup(packages=packages, package_dir={p: p.removeprefix("enlist.").replace(".", "/") for p in packages},
      entry_points=points)
