"""Pools in files: columns as `.npz` or Parquet for up to millions of cards, YAML or JSON lists for cards by hand.

A column file holds what `Pool` holds: words by code and vocabulary, ids as one block of UTF-8 with the ends of each,
knobs as codes of distinct settings (JSON). So a million cards share their words and settings in memory. What a file
says is checked column by column; it is never unpickled.
"""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from pydantic import ValidationError

from enlist.agents.cards import AgentCard
from enlist.agents.pool import Pool, build, specialists
from enlist.tools.runtime.errors import EnlistError

FORMAT = "enlist-pool/1"
WORDS = ("duty", "capability", "specialist", "route", "model")
NUMBERS = {"quality": (0.0, 1.0), "quality_n": (0.0, np.inf), "seconds": (0.0, np.inf), "usd": (0.0, np.inf)}
DUTIES = ("analyst", "verifier", "writer")
LARGEST = 4 << 30  # bytes of a column file when unpacked
SHOW = "see `enlist agents show ID --json`"
COLUMNS = f"the columns ids, {', '.join(WORDS)}, knobs, {', '.join(NUMBERS)}, synthetic"


def read_pool(path: Path) -> Pool:
    """A pool from a file, by its name's ending: `.npz`, `.parquet`, else a YAML or JSON list of cards.

    Cards of installed specialists can be enlisted, others only be searched. Raises `bad_input` for what is no pool, and
    `not_installed` for Parquet without pyarrow.
    """
    match path.suffix.lower():
        case ".npz":
            return _pool(_from_npz(path), path)
        case ".parquet":
            return _pool(_from_parquet(path), path)
    return _from_cards(path)


def write_pool(pool: Pool, path: Path) -> None:
    """Write a pool's columns as `.npz` or `.parquet` (atomically); track records stay in the store."""
    words = {name: np.unique(getattr(pool, name).astype(str), return_inverse=True) for name in WORDS}
    texts = [json.dumps(dict(knobs), sort_keys=True) for knobs in pool.knobs]
    words["knobs"] = np.unique(np.array(texts, dtype=str), return_inverse=True)
    numbers = {name: np.asarray(getattr(pool, name), dtype=np.float64) for name in NUMBERS}
    temporary = path.with_name(f".{path.name}.part")
    try:
        if path.suffix.lower() == ".parquet":
            _write_parquet(pool, words, numbers, temporary)
        elif path.suffix.lower() == ".npz":
            encoded = [str(id).encode() for id in pool.ids]
            columns: dict[str, Any] = {
                "format": np.array(FORMAT), "ids": np.frombuffer(b"".join(encoded), dtype=np.uint8),
                "ids_end": np.cumsum([len(one) for one in encoded], dtype=np.int64), "synthetic": pool.synthetic,
                **numbers, **{f"{name}_names": names for name, (names, _) in words.items()},
                **{f"{name}_code": codes.astype(np.int32) for name, (_, codes) in words.items()}}
            with open(temporary, "wb") as file:
                np.savez(file, **columns)
        else:
            raise EnlistError("bad_input", "a pool is written as columns", given=path.name,
                              allowed="a name that ends in .npz or .parquet", fix="choose one of these endings")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _from_npz(path: Path) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(one.file_size for one in archive.infolist()) > LARGEST:
                raise _refuse(path, "the columns are too large", f"at most {LARGEST >> 30} GiB")
        with np.load(path, allow_pickle=False) as file:
            if "format" not in file or str(file["format"]) != FORMAT:
                raise _refuse(path, "this is no pool file", f"format {FORMAT}, as `write_pool` writes it")
            found: dict[str, Any] = {name: file[name] for name in (*NUMBERS, "synthetic")}
            for name in (*WORDS, "knobs"):
                names, codes = file[f"{name}_names"], file[f"{name}_code"]
                if codes.dtype.kind not in "iu" or codes.ndim != 1 or names.dtype.kind != "U" or names.ndim != 1 or (
                        len(codes) and (int(codes.min()) < 0 or int(codes.max()) >= len(names))):
                    raise _refuse(path, f"the column {name} is damaged", "codes of its vocabulary")
                found[name] = (names.tolist(), codes)
            data, ends = file["ids"].tobytes(), file["ids_end"]
            if ends.dtype != np.int64 or ends.ndim != 1 or (len(ends) and (
                    int(ends[-1]) != len(data) or int(ends[0]) < 0 or np.any(np.diff(ends) < 0))):
                raise _refuse(path, "the column ids is damaged", "ascending ends of each id")
            starts = [0, *ends.tolist()]
            found["ids"] = [data[start:end].decode() for start, end in zip(starts, ends.tolist(), strict=False)]
            return found
    except KeyError as error:
        raise _refuse(path, f"a column is missing: {error.args[0]}", COLUMNS) from error
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, NotImplementedError) as error:
        raise _refuse(path, f"cannot read the pool file: {str(error)[:200]}", "what `write_pool` wrote") from error


def _from_parquet(path: Path) -> dict[str, Any]:
    arrow, parquet = _pyarrow()
    wanted = ["ids", *WORDS, "knobs", *NUMBERS, "synthetic"]
    try:
        table = parquet.read_table(path, columns=wanted, memory_map=False)
        found: dict[str, Any] = {name: table[name].to_numpy() for name in (*NUMBERS, "synthetic")}
        for name in (*WORDS, "knobs"):
            column = table[name].combine_chunks()
            column = column if isinstance(column, arrow.DictionaryArray) else column.dictionary_encode()
            if column.null_count:
                raise _refuse(path, f"the column {name} has empty cells", 'text; "" for none')
            found[name] = ([str(word) for word in column.dictionary.to_pylist()], column.indices.to_numpy())
        found["ids"] = table["ids"].to_pylist()
    except (arrow.ArrowException, OSError, KeyError) as error:
        raise _refuse(path, f"cannot read the pool file: {str(error)[:200]}", COLUMNS) from error
    if not all(isinstance(id, str) for id in found["ids"]):
        raise _refuse(path, "the column ids holds something else than text", "text")
    return found


def _write_parquet(pool: Pool, words: Mapping[str, Any], numbers: Mapping[str, Any], path: Path) -> None:
    arrow, parquet = _pyarrow()
    columns: dict[str, Any] = {"ids": arrow.array([str(id) for id in pool.ids])}
    for name, (names, codes) in words.items():
        columns[name] = arrow.DictionaryArray.from_arrays(codes.astype(np.int32), names.tolist())
    parquet.write_table(arrow.table({**columns, **numbers, "synthetic": pool.synthetic}), path)


def _pool(found: dict[str, Any], path: Path) -> Pool:
    """The columns checked, sorted by id, and their words shared."""
    count = len(found["ids"])
    if not count:
        raise _refuse(path, "the pool file holds no cards", "at least one card")
    ids = np.array(found["ids"], dtype=object)
    order = None if bool(np.all(ids[:-1] < ids[1:])) else np.argsort(ids, kind="stable")
    ids = ids if order is None else ids[order]
    if order is not None and (twins := np.flatnonzero(ids[:-1] == ids[1:])).size:
        raise _refuse(path, f"two agent cards share an id: {str(ids[twins[0]])[:100]!r}", "each card its own id")
    arrays: dict[str, Any] = {}
    for name, (low, high) in NUMBERS.items():
        column = np.asarray(found[name])
        weightless = name == "quality_n" and np.any(column == 0)
        if column.shape != (count,) or column.dtype.kind not in "fiu" or weightless or not np.all(
                np.isfinite(column) & (column >= low) & (column <= high)):
            raise _refuse(path, f"the column {name} is wrong", f"{count} finite numbers in [{low:g}, {high:g}]")
        arrays[name] = column.astype(np.float64)
    synthetic = np.asarray(found["synthetic"])
    if synthetic.shape != (count,) or synthetic.dtype != np.bool_:
        raise _refuse(path, "the column synthetic is wrong", f"{count} times true or false")
    for name in (*WORDS, "knobs"):
        names, codes = found[name]
        if len(codes) != count:
            raise _refuse(path, f"the column {name} has {len(codes)} rows", str(count))
        values = [_knobs(path, text) for text in names] if name == "knobs" else names
        if name == "duty" and not set(names) <= set(DUTIES):
            raise _refuse(path, f"unknown duties: {sorted(set(names) - set(DUTIES))[:3]}", ", ".join(DUTIES))
        lookup = np.empty(len(values), dtype=object)
        lookup[:] = values
        arrays[name] = lookup[codes]
    arrays["synthetic"] = synthetic
    if order is not None:
        arrays = {name: column[order] for name, column in arrays.items()}
    return Pool(ids=ids, knobs=tuple(arrays.pop("knobs").tolist()), declared=specialists(), **arrays)


def _knobs(path: Path, text: str) -> Mapping[str, Any]:
    try:
        knobs = json.loads(text)
    except ValueError:
        knobs = None
    if not isinstance(knobs, dict) or not all(isinstance(v, str | int | float | bool | None) for v in knobs.values()):
        raise _refuse(path, f"knobs are no settings: {text[:100]!r}", 'JSON such as {"rounds": 1}')
    return knobs


def _from_cards(path: Path) -> Pool:
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml: about eight times as fast
        text = path.read_text(encoding="utf-8")
        data = json.loads(text) if path.suffix.lower() == ".json" else yaml.load(text, Loader=loader)
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise EnlistError("bad_input", f"cannot read the pool file: {str(error)[:300]}", given=str(path),
                          allowed="a YAML or JSON list of agent cards, .npz or .parquet", fix=SHOW) from error
    if not isinstance(data, list) or not data:
        raise EnlistError("bad_input", "the pool file holds no list of cards", given=type(data).__name__,
                          allowed="a YAML or JSON list of agent cards", fix=SHOW)
    cards = []
    for number, row in enumerate(data):
        try:
            cards.append(AgentCard.model_validate(row))
        except ValidationError as error:
            fault = error.errors()[0]
            raise EnlistError("bad_input", f"card {number} of the pool file: {'.'.join(map(str, fault['loc']))}: "
                              f"{fault['msg']}", given=str(row)[:200], allowed=SHOW) from error
    return build(cards, specialists())


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise EnlistError("not_installed", "Parquet needs pyarrow", fix="pip install 'enlist[bench]', or use .npz"
                          ) from error
    return pyarrow, pyarrow.parquet


def _refuse(path: Path, message: str, allowed: str) -> EnlistError:
    return EnlistError("bad_input", message, given=str(path), allowed=allowed,
                       fix="write it again with enlist.agents.pool_files.write_pool, or as a list of cards")
