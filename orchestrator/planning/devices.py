"""Devices named in a text, in the user's spelling."""

import re
from collections.abc import Iterator

_FORM = r"(?:[ -]?(?:PCIe|SXM\d?|NVL\d*|OAM|HBM3e?|Ti|Super|Ada|Ultra|Max|Pro))*"
_NVIDIA = (r"(?:Tesla )?(?:P(?:4|40|100)|V100|T4)|A(?:2|10G?|16|30|40|100|800)|H(?:20|100|200|800)|B(?:100|200|300)"
           r"|L(?:4|20|40S?)|G[BH](?:10|200|300)|A\d000")
_DEVICE = re.compile(
    r"(?<![\w.$!])(?:"
    rf"(?:NVIDIA )?(?:GeForce )?(?:RTX|GTX) ?(?:PRO )?A?\d{{3,4}}{_FORM}"
    rf"|(?:NVIDIA )?(?:{_NVIDIA}){_FORM}(?:-(?:40|80) ?GB)?"
    r"|(?:AMD )?(?:Instinct )?MI ?\d{3}[AX]?|(?:Intel )?Gaudi ?\d|TPU ?v\d[ep]?|v\d[ep] TPU|Trainium ?\d?"
    r"|Inferentia ?\d?"
    r"|Apple M[1-5](?: (?:Pro|Max|Ultra))?|Jetson(?: (?:AGX|Orin|Xavier|Nano|Thor|NX))+"
    r"|(?:Intel )?Xeon(?: \w+ \d{4}\w*)?|(?:AMD )?EPYC(?: \d{4}\w?)?|DGX Spark|Raspberry Pi \d"
    r")(?!(?!s\b)\w|[:!]\$?[A-Z]{1,3}\$?\d|\.\d)", re.I)
_RANGE_BEFORE = re.compile(r"[A-Z]{1,3}\$?\d{1,7}:$", re.I)
_SHEET = re.compile(r"\b(?:cell|formula|excel|(?:spread|work)?sheet|workbook|column|xlsx|zelle|formel|celda)s?\b", re.I)
_GPU_BEFORE = re.compile(r"\b(?:gpus?|nvidia|tesla)\s*$|\bon (?:an?|the|one|our|my|\d+x?) $", re.I)
_LIKE_CELL = re.compile(r"[A-Z]\d{1,3}$", re.I)


def find_devices(text: str) -> Iterator[re.Match[str]]:
    """Each device named in `text`, in order. "A100" in a sentence about spreadsheet cells is a cell, not a
    device, and so are both ends of "A1:A100"; a colon before or after a device is punctuation elsewhere. The s of a
    plural is not part of the name."""
    for match in _DEVICE.finditer(text):
        if _LIKE_CELL.match(match[0]):
            before = text[max(0, match.start() - 24): match.start()]
            if _RANGE_BEFORE.search(before):
                continue
            after = text[match.end(): match.end() + 8].lower().lstrip()
            named = bool(_GPU_BEFORE.search(before)) or after.startswith(("gpu", "pcie", "sxm"))
            short = len(match[0]) == 2  # T4, L4: cells and names of parts more often than devices
            if not named and (short or _SHEET.search(text)):
                continue
        yield match
