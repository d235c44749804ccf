"""Texts, and SVG documents as pixels, in files that are written in full or not at all.

resvg makes a PNG of an SVG, Pillow a GIF of PNGs, the program ffmpeg a video, and cairosvg a PDF, for notebooks.
"""

import base64
import io
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from mimetypes import guess_type
from os import PathLike
from pathlib import Path

from .optional import optional

SAMPLED = 8  # the most frames of a GIF from which the colours are chosen


def written(text: str, path: str | PathLike[str], mime_type: str, suffix: str) -> Path:
    """The path of the written file. A name of another type is refused, since a page called a.png would not open."""
    target = Path(path)
    if (named := guess_type(target.name)[0]) not in (None, mime_type):
        raise ValueError(f"{target.name} is a name for {named}, and this is {mime_type}: let it end in {suffix}")
    with in_full(target) as beside:
        beside.write_text(text, encoding="utf-8")
    return target


@contextmanager
def in_full(path: Path) -> Iterator[Path]:
    """A path beside `path`, for a file that replaces `path` once it is written. After an error, `path` is unchanged."""
    if path.exists() and not path.is_file():  # a device, or a folder, which raises
        yield path
        return
    beside = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield beside
        if path.exists():
            shutil.copymode(path, beside)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def rasteriser(what: str, packages: str = "resvg-py") -> Callable[..., bytes]:
    """A function from an SVG to a PNG in light colours, with a width in pixels, or `zoom` times as large as the SVG."""
    resvg = optional("resvg_py", packages, what)
    return lambda svg, **size: bytes(resvg.svg_to_bytes(svg_string=svg, **size))


def pdf_of(svg: str) -> str:
    """A PDF of an SVG, in base64; "" without the package cairosvg, or without its library cairo."""
    try:
        cairosvg = import_module("cairosvg")
    except (ImportError, OSError):
        return ""
    return base64.b64encode(cairosvg.svg2pdf(bytestring=svg.encode())).decode()


def save_picture(svg: str, path: str | PathLike[str]) -> Path:
    """Write an SVG or, if the name ends in .png, a PNG of the SVG. Return the path."""
    target = Path(path)
    if target.suffix.lower() != ".png":
        return written(svg, target, "image/svg+xml", ".svg")
    picture = rasteriser("a PNG")(svg, zoom=2)  # for sharp text
    with in_full(target) as beside:
        beside.write_bytes(picture)
    return target


def save_film(svgs: Iterable[str], path: Path, seconds: float, hold: float) -> None:
    """Write SVGs of one size as a GIF that loops, or as an MP4. Each stays for `seconds`, the last `hold` longer."""
    if (suffix := path.suffix.lower()) not in (".gif", ".mp4"):
        raise ValueError(f"{path.name} is no name for a moving picture: let it end in .gif or .mp4")
    if suffix == ".mp4":
        pictures = [*map(rasteriser("a video"), svgs)]
        _video([*pictures, *pictures[-1:] * round(hold / seconds)], path, seconds)
        return
    png, image = rasteriser("a GIF", "resvg-py pillow"), optional("PIL.Image", "resvg-py pillow", "a GIF")
    frames = [image.open(io.BytesIO(png(svg))).convert("RGB") for svg in svgs]
    # All frames have one palette, so that the GIF stores only the pixels that change.
    sampled = frames[:: -(-len(frames) // SAMPLED)]
    strip = image.new("RGB", (sampled[0].width, sum(frame.height for frame in sampled)))
    for k, frame in enumerate(sampled):
        strip.paste(frame, (0, k * frame.height))
    palette = strip.quantize(256, method=image.Quantize.FASTOCTREE)
    first, *rest = [frame.quantize(palette=palette, dither=image.Dither.NONE) for frame in frames]
    durations = [max(round(1000 * seconds), 20)] * len(rest) + [round(1000 * (seconds + hold))]
    with in_full(path) as beside:
        first.save(beside, "GIF", save_all=True, append_images=rest, duration=durations, loop=0)


def _video(pictures: Sequence[bytes], path: Path, seconds: float) -> None:
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        raise FileNotFoundError(f"{path.name} needs the program ffmpeg, which is not on the PATH; a .gif does not")
    source = ["-f", "image2pipe", "-c:v", "png", "-framerate", f"{1 / seconds:g}", "-i", "-"]
    video = ["-r", "25", "-vf", "crop=trunc(iw/2)*2:trunc(ih/2)*2", "-pix_fmt", "yuv420p"]  # which has no odd sizes
    with in_full(path) as beside:
        command = [ffmpeg, "-y", "-loglevel", "error", *source, *video, str(beside)]
        process = subprocess.run(command, input=b"".join(pictures), capture_output=True, check=False)
        if process.returncode:
            message = process.stderr.decode(errors="replace").strip()
            raise RuntimeError(f"ffmpeg could not write {path.name}: {message[-300:]}")
