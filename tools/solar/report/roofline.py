"""A roofline plot as one self-contained SVG: attainable FLOP/s over arithmetic intensity, both logarithmic.

Per device its bandwidth slope, a roof for each unit and dtype that the model's FLOP run on (thick: the one that does
most), and a point per kind of operator at the rate that its bound allows: on the slope or on its own roof. No scripts,
fonts or outside references; all text is escaped.
"""

from collections import Counter
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

from enlist.tools.solar.pricing.bounds import Bounds, DeviceBounds

_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 720, 420, 76, 24, 24, 56
_COLOURS = ("#0b6e99", "#b3541e", "#3d7a3d", "#7a3d7a")
_POINTS = 40


@dataclass(frozen=True)
class _Axes:
    """Decades shown: x is FLOP/byte, y is FLOP/s."""

    x: tuple[int, int]
    y: tuple[int, int]

    def at(self, intensity: float, rate: float) -> tuple[float, float]:
        across = (log10(intensity) - self.x[0]) / (self.x[1] - self.x[0])
        up = (log10(rate) - self.y[0]) / (self.y[1] - self.y[0])
        return (_LEFT + across * (_WIDTH - _LEFT - _RIGHT), _HEIGHT - _BOTTOM - up * (_HEIGHT - _TOP - _BOTTOM))


def roofline_svg(given: Bounds) -> str:
    """The plot of one model on its devices."""
    points = {device.device: _points(device) for device in given.devices}
    axes = _axes(given, [p for many in points.values() for p in many])
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
             f'font-family="sans-serif" font-size="12"><title>{escape(f"Roofline of {given.target}")}</title>'
             f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>', *_grid(axes)]
    for i, device in enumerate(given.devices):
        colour = _COLOURS[i % len(_COLOURS)]
        parts += _roof(axes, device, colour, i)
        for x, y, label in points[device.device]:
            px, py = axes.at(x, y)
            parts.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="4" fill="{colour}" fill-opacity="0.6">'
                         f"<title>{escape(label)}</title></circle>")
    return "".join([*parts, "</svg>"])


def _points(device: DeviceBounds) -> list[tuple[float, float, str]]:
    """(FLOP/byte, FLOP/s, label) of each different operator that does FLOP and moves bytes, largest first."""
    different = {(t.op, t.flop, t.bytes): t for t in device.terms if t.flop and t.bytes and t.seconds}
    largest = sorted(different.values(), key=lambda t: -t.seconds)[:_POINTS]
    peaks = dict(_compute(device))  # an operator's own roof: the other FLOP beside it do not count towards its rate
    return [(t.flop / t.bytes, peaks.get(t.roof, t.flop / t.seconds), f"{t.op} {t.where} ({t.roof})") for t in largest]


def _compute(device: DeviceBounds) -> list[tuple[str, float]]:
    """The roofs that the model's FLOP run on with their peaks, the one that does most first."""
    done: Counter[str] = Counter()
    peaks: dict[str, float] = {}
    for roof in device.roofs:  # of every phase
        if roof.roof.startswith(("tensor.", "vector.")):
            done[roof.roof] += roof.amount
            peaks[roof.roof] = roof.peak
    return [(name, peaks[name]) for name, _ in done.most_common()] or [
        ("vector.fp32", device.ridge_flop_per_byte * _bandwidth(device))]


def _bandwidth(device: DeviceBounds) -> float:
    return next((r.peak for r in device.roofs if r.roof == "dram"), 1e12)


def _axes(given: Bounds, points: list[tuple[float, float, str]]) -> _Axes:
    ridges = [peak / _bandwidth(d) for d in given.devices for _, peak in _compute(d)]
    peaks = [peak for d in given.devices for _, peak in _compute(d)]
    xs, ys = [*ridges, *(p[0] for p in points), 0.1], [*peaks, *(p[1] for p in points)]
    x = (floor(log10(min(xs))), ceil(log10(max(xs))) + 1)
    return _Axes(x, (min(floor(log10(min(ys))), x[0] + 12), ceil(log10(max(ys) * 1.2))))


def _grid(axes: _Axes) -> list[str]:
    lines = []
    for decade in range(axes.x[0], axes.x[1] + 1):
        x, y = axes.at(10.0**decade, 10.0 ** axes.y[0])
        lines.append(f'<path d="M{x:.1f} {y:.1f}V{_TOP}" stroke="#ddd"/>'
                     f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{10.0**decade:g}</text>')
    for decade in range(axes.y[0], axes.y[1] + 1):
        x, y = axes.at(10.0 ** axes.x[0], 10.0**decade)
        lines.append(f'<path d="M{x:.1f} {y:.1f}H{_WIDTH - _RIGHT}" stroke="#ddd"/>'
                     f'<text x="{x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{10.0 ** (decade - 12):g}</text>')
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    return [*lines, f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 12}" text-anchor="middle">'
            'arithmetic intensity, FLOP/byte</text>',
            f'<text transform="translate(16 {middle}) rotate(-90)" text-anchor="middle">attainable TFLOP/s</text>']


def _roof(axes: _Axes, device: DeviceBounds, colour: str, place: int) -> list[str]:
    """The roofs of the device at `place` in the legend; names of the thin ones stand apart by device."""
    bandwidth, (main, *others) = _bandwidth(device), _compute(device)
    low = max(10.0 ** axes.x[0], 10.0 ** axes.y[0] / bandwidth)
    highest = max(peak for _, peak in (main, *others))
    lines = [_line([axes.at(low, low * bandwidth), axes.at(highest / bandwidth, highest)], "dram", colour, 2)]
    for roof, peak in (main, *others):
        corners = [axes.at(peak / bandwidth, peak), axes.at(10.0 ** axes.x[1], peak)]
        lines.append(_line(corners, roof, colour, 2 if roof == main[0] else 0.7))
    for roof, peak in others:
        _, y = axes.at(1.0, peak)
        lines.append(f'<text x="{_WIDTH - _RIGHT - 4 - 76 * place}" y="{y - 3:.1f}" text-anchor="end" font-size="9" '
                     f'fill="{colour}">{escape(roof)}</text>')
    label = escape(f"{device.device}: {main[0]} {main[1] / 1e12:.4g} TFLOP/s, DRAM {bandwidth / 1e12:.3g} TB/s")
    return [*lines, f'<text x="{_WIDTH - _RIGHT - 8}" y="{_HEIGHT - _BOTTOM - 10 - 16 * place}" text-anchor="end" '
                    f'fill="{colour}">{label}</text>']


def _line(corners: list[tuple[float, float]], roof: str, colour: str, width: float) -> str:
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in corners)
    return (f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="{width:g}"><title>{escape(roof)}</title>'
            "</path>")
