from setuptools import find_packages, setup

ROOMS = ("tools", "agents", "orchestrator", "environments", "evals")
packages = [f"enlist.{p}" for room in ROOMS for p in [room, *(f"{room}.{s}" for s in find_packages(room))]]
setup(packages=packages, package_dir={p: p.removeprefix("enlist.").replace(".", "/") for p in packages})
