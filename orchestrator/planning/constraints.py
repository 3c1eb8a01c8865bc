"""Constraints that the text states: devices, number format, batch size, sequence length, training or inference."""

import re

from enlist.orchestrator.planning.devices import find_devices
from enlist.orchestrator.planning.lexicon import ends
from enlist.orchestrator.request import Constraints

_DTYPES = {
    "bf16": "bf16", "bfloat16": "bf16", "fp16": "fp16", "float16": "fp16", "half precision": "fp16",
    "half-precision": "fp16", "fp32": "fp32", "float32": "fp32", "single precision": "fp32", "tf32": "tf32",
    "fp64": "fp64", "float64": "fp64", "double precision": "fp64", "fp8": "fp8", "float8": "fp8", "e4m3": "fp8",
    "e5m2": "fp8", "fp4": "fp4", "nvfp4": "fp4", "mxfp4": "fp4", "int8": "int8", "w8a8": "int8", "int4": "int4",
}
_DTYPE = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(map(re.escape, _DTYPES), key=len, reverse=True))})(?!\w)", re.I)
_COUNT = r"(?P<count>\d{1,3}(?:,\d{3})+|\d{1,9})(?P<kilo> ?[kK](?![\w]))?(?![\w.]|,\d)"
_BATCH = re.compile(rf"(?<![\w-])(?:batch(?:[ -]?size|[ -]?größe|_size)?|bs|batches of|tamaño de lote|taille de lot)"
                    rf"(?: of| is|:|=| =)? ?{_COUNT}"
                    r"|(?<![\w.])(?P<lead>\d{1,9}) (?:sequences|images|samples) per batch", re.I)
_LENGTH = re.compile(
    rf"(?<![\w-])(?:(?:sequence|context|prompt|seq|kontext|sequenz)[ _-]?(?:length|len|länge|window)?|seqlen"
    rf"|context window)(?: length)?(?: of| is|:|=| =)? ?{_COUNT}"
    rf"|(?<![\w.])(?P<lead>\d{{1,3}}(?:,\d{{3}})+|\d{{1,9}})(?P<leadkilo>[kK])?(?: |-)"
    rf"(?:tokens?(?: long| context| sequence| prompt|s of context)|context\b|tokens per sequence"
    rf"|sequence length)", re.I)
_TRAINING = re.compile(
    r"\b(?:(?:during|for|in|while|a|one|per|full|the) (?:\w+ )?training(?: step| run| pass| iteration)?"
    r"|training (?:step|pass|iteration|throughput|run)s?|forward (?:and|\+|&) backward|forward-backward|backward pass"
    r"|train(?:ing)? (?:it|my|our|the|this)|fwd ?\+ ?bwd|beim training|entrenamiento|entraînement|训练)\b", re.I)
_NOT_TRAINING = re.compile(r"\b(?:not|no|without|instead of) (?:the |a |for )?training\b", re.I)


def read_constraints(text: str) -> Constraints:
    """The constraints stated in `text`; `quotes` holds the words by field name, each a substring of `text`.

    Devices keep the user's spelling, each once. Of a number format, batch or length the first one counts.
    """
    text = ends(text)
    quotes: dict[str, str] = {}
    devices: dict[str, str] = {}
    for device in find_devices(text):
        devices.setdefault(device[0].casefold(), device[0])
    if devices:
        quotes["devices"] = next(iter(devices.values()))
    dtype = None
    if match := _DTYPE.search(text):
        dtype, quotes["dtype"] = _DTYPES[match[0].lower()], match[0]
    batch = _count(_BATCH.search(text), "batch", quotes)
    length = _count(_LENGTH.search(text), "length", quotes)
    training = None if _NOT_TRAINING.search(text) else _TRAINING.search(text)
    if training:
        quotes["training"] = training[0]
    return Constraints(devices=tuple(devices.values()), dtype=dtype, batch=batch, length=length,
                       training=training is not None, quotes=quotes)


def _count(match: re.Match[str] | None, field: str, quotes: dict[str, str]) -> int | None:
    if match is None:
        return None
    groups = match.groupdict()
    number = int((groups["count"] or groups["lead"]).replace(",", ""))
    if number == 0:
        return None
    quotes[field] = match[0]
    return number * 1024 if groups.get("kilo") or groups.get("leadkilo") else number  # "8k context" is 8192
