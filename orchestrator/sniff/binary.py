"""Files known by their first bytes: images, sound, office files, tables, tensors, point clouds.

Signatures are those of the formats' own specifications (PNG, JFIF, RIFF, ISO 32000 for PDF, PKWARE APPNOTE for ZIP,
Apache Parquet, NumPy NEP 1, safetensors, GGUF, ASPRS LAS).
"""


from enlist.orchestrator.sniff.found import Sniffed

_SIGNATURES: tuple[tuple[bytes, tuple[str, ...], str, str | None], ...] = (
    (b"\x89PNG\r\n\x1a\n", ("images",), "image/png", None),
    (b"\xff\xd8\xff", ("images",), "image/jpeg", None),
    (b"GIF87a", ("images",), "image/gif", None),
    (b"GIF89a", ("images",), "image/gif", None),
    (b"II*\x00", ("images", "slide"), "image/tiff", None),
    (b"MM\x00*", ("images", "slide"), "image/tiff", None),
    (b"II+\x00", ("slide", "images"), "image/tiff", None),
    (b"fLaC", ("audio",), "audio/flac", None),
    (b"OggS", ("audio",), "audio/ogg", None),
    (b"ID3", ("audio",), "audio/mpeg", None),
    (b"PAR1", ("table",), "application/vnd.apache.parquet", None),
    (b"ARROW1\x00\x00", ("table",), "application/vnd.apache.arrow.file", None),
    (b"\x93NUMPY", ("features", "tensor-trace"), "application/x-npy", None),
    (b"\x89HDF\r\n\x1a\n", ("table", "counts"), "application/x-hdf5", None),
    (b"GGUF", ("checkpoint", "model"), "application/x-gguf", None),
    (b"LASF", ("point-cloud",), "application/vnd.las", None),
    (b"# .PCD", ("point-cloud",), "application/x-pcd", None),
    (b"ply\n", ("point-cloud",), "application/x-ply", None),
    (b"ply\r\n", ("point-cloud",), "application/x-ply", None),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", (), "application/x-ole-storage",
     "an Office file of the old form: save it as .xlsx or .docx"),
    (b"BZh", (), "application/x-bzip2", "bzip2 is not read: unpack it"),
    (b"\x28\xb5\x2f\xfd", (), "application/zstd", "zstd is not read: unpack it"),
    (b"\xfd7zXZ\x00", (), "application/x-xz", "xz is not read: unpack it"),
    (b"7z\xbc\xaf\x27\x1c", (), "application/x-7z-compressed", "an archive: attach the files in it"),
    (b"Rar!\x1a\x07", (), "application/vnd.rar", "an archive: attach the files in it"),
    (b"\x7fELF", (), "application/x-elf", "a program: attach its source"),
    (b"SQLite format 3\x00", (), "application/vnd.sqlite3", "a database: export the tables"),
)
_BY_NAME = {".xlsx": "xl/", ".xlsm": "xl/", ".docx": "word/"}


def sniff_binary(data: bytes, name: str) -> Sniffed | None:
    """What a signature says, or None where there is none."""
    for signature, kinds, media_type, note in _SIGNATURES:
        if data.startswith(signature):
            return Sniffed(kinds, media_type, note)
    if data.startswith(b"PK\x03\x04") or data.startswith(b"PK\x05\x06"):
        return _zip(data, name)
    if b"%PDF-" in data[:1024]:
        note = "encrypted: remove the password" if b"/Encrypt" in data else None
        return Sniffed(("document",), "application/pdf", note)
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        return Sniffed(("audio",), "audio/wav")
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return Sniffed(("images",), "image/webp")
    if data[:2] == b"BM" and len(data) > 26 and data[6:10] == b"\x00\x00\x00\x00":
        return Sniffed(("images",), "image/bmp")
    if len(data) > 3 and data[0] == 0xFF and data[1] in (0xFB, 0xF3, 0xF2):
        return Sniffed(("audio",), "audio/mpeg")
    if data[4:8] == b"ftyp":
        sound = data[8:11] == b"M4A"
        return Sniffed(("audio",), "audio/mp4") if sound else Sniffed((), "video/mp4", "video is not read as a file")
    if len(data) > 10 and data[8:10] == b'{"' and 2 <= int.from_bytes(data[:8], "little") < 1 << 27:
        return Sniffed(("checkpoint", "model"), "application/x-safetensors")
    if data[257:262] == b"ustar":
        return Sniffed((), "application/x-tar", "an archive: attach the files in it")
    return None


def _zip(data: bytes, name: str) -> Sniffed:
    """A ZIP by the names in its local headers and, where it is small, its directory; unseen names leave the tie to
    the file's own name."""
    inside = _names_in_zip(data)
    if any(i.startswith("xl/") for i in inside):
        return Sniffed(("workbook",), "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet")
    if any(i.startswith("word/") for i in inside):
        return Sniffed(("document",), "application/vnd.openxmlformats-officedocument.wordprocessingml.document")
    for form, kind in (("spreadsheet", "workbook"), ("text", "document")):
        media_type = f"application/vnd.oasis.opendocument.{form}"
        if b"mimetype" + media_type.encode() in data[:200]:
            return Sniffed((kind,), media_type)
    if any(i.endswith("/data.pkl") for i in inside):
        return Sniffed(("checkpoint", "model", "tensor-trace"), "application/x-pytorch")
    if inside and all(i.endswith(".npy") for i in inside):
        return Sniffed(("features", "tensor-trace"), "application/x-npz")
    for ending, folder in _BY_NAME.items():
        if name.lower().endswith(ending):
            return Sniffed(("workbook",) if folder == "xl/" else ("document",), "application/zip",
                           f"taken for {ending} by its name: its parts lie beyond the first 64 KiB")
    return Sniffed((), "application/zip", "an archive: attach the files in it")


def _names_in_zip(data: bytes) -> list[str]:
    """Names in local file headers and directory entries (APPNOTE 4.3.7 and 4.3.12) among the bytes seen."""
    found = []
    for signature, length_at, name_at in ((b"PK\x03\x04", 26, 30), (b"PK\x01\x02", 28, 46)):
        at = data.find(signature)
        while at >= 0:
            length = int.from_bytes(data[at + length_at: at + length_at + 2], "little")
            if name := data[at + name_at: at + name_at + min(length, 512)]:
                found.append(name.decode("utf-8", "replace"))
            at = data.find(signature, at + 4)
    return found
