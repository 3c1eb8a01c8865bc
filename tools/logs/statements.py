"""The statements behind logs: every template with its count and where it is first seen; or the template of every
line."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from enlist.tools.logs.batch import Accounting, Ref, Source
from enlist.tools.logs.counting import Options, records
from enlist.tools.logs.reading import found
from enlist.tools.logs.templates.miner import Miner

Watch = Callable[[int], None]


def statements(paths: Sequence[str | os.PathLike[str]], watch: Watch | None = None) -> list[dict[str, Any]]:
    """Templates, most frequent first: `template_id`, `template`, `count`, `first_line {file, line, byte}`,
    `example`."""
    miner, account, sources = Miner(), Accounting(), dict[int, Source]()
    counts: dict[int, int] = {}
    first: dict[int, tuple[Ref, str]] = {}
    options = Options()
    every = found(paths, account, options.limits)
    for batch in records(every, account, options):
        sources[batch.source.id] = batch.source
        for i, shape in enumerate(miner.add(batch.message)):
            counts[shape] = counts.get(shape, 0) + 1
            if shape not in first:
                first[shape] = Ref(batch.source.id, batch.line[i], batch.byte[i]), batch.message[i]
        if watch is not None:
            watch(account.bytes_read)
    miner.fit()
    total: dict[int, int] = {}
    begin: dict[int, tuple[Ref, str]] = {}
    for shape, n in counts.items():
        template = miner.template_of(shape)
        total[template] = total.get(template, 0) + n
        begin[template] = min(begin.get(template, first[shape]), first[shape])
    return [{"template_id": f"{template:016x}", "template": miner.text(template), "count": n,
             "first_line": {"file": sources[begin[template][0].source].name, "line": begin[template][0].line,
                            "byte": begin[template][0].byte},
             "example": begin[template][1]}
            for template, n in sorted(total.items(), key=lambda t: (-t[1], t[0]))]


def assigned(paths: Sequence[str | os.PathLike[str]], watch: Watch | None = None) -> Iterator[str | None]:
    """The template id of every physical line in the order of reading, lines that continue a record with the record's;
    None for lines that are blank or no text."""
    miner, account, options = Miner(), Accounting(), Options()
    every = found(paths, account, options.limits)
    shapes: dict[int, list[int]] = {}
    for batch in records(every, account, options):
        mine = shapes.setdefault(batch.source.id, [])
        for i, shape in enumerate(miner.add(batch.message)):
            for number in (batch.line[i], *batch.more.get(i, ())):
                mine.extend([-1] * (number - len(mine)))
                mine[number - 1] = shape
        if watch is not None:
            watch(account.bytes_read)
    miner.fit()
    ids = {shape: f"{miner.template_of(shape):016x}" for mine in shapes.values() for shape in set(mine) if shape >= 0}
    for source in sorted(shapes):
        yield from (ids.get(shape) for shape in shapes[source])
