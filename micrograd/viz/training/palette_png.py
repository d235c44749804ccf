"""A minimal writer of PNG files with a palette (RFC 2083), and the palette of signed numbers."""

import base64
import struct
import zlib
from collections.abc import Sequence

import numpy as np

Colour = tuple[int, ...]  # red, green, blue, alpha, each in 0..255

# Orange below zero, blue above, and transparent at zero, so that the background shows through, light or dark. The last
# colour is for nan.
SHADES = 31  # on each side of zero
UNKNOWN = (90, 103, 125, 210)
PALETTE: list[Colour] = [
    *[(*((213, 94, 0) if i < 0 else (0, 114, 178)), round(165 * abs(i) / SHADES)) for i in range(-SHADES, SHADES + 1)],
    UNKNOWN,
]


def uri(pixels: np.ndarray, palette: Sequence[Colour] = PALETTE) -> str:
    """An image as a data URI."""
    return "data:image/png;base64," + base64.b64encode(png(np.round(pixels), palette)).decode()


def png(pixels: np.ndarray, palette: Sequence[Colour]) -> bytes:
    """Encode an image of shape (height, width) whose pixels are indices into the palette.

    >>> png(np.zeros((2, 3)), [(255, 255, 255, 255)])[:8]
    b'\\x89PNG\\r\\n\\x1a\\n'
    """
    height, width = pixels.shape
    chunks = {
        b"IHDR": struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0),  # 8 bits a pixel, with a palette
        b"PLTE": bytes(channel for colour in palette for channel in colour[:3]),
        b"tRNS": bytes(colour[3] for colour in palette),
        b"IDAT": _compressed(pixels.astype(np.uint8)),
        b"IEND": b"",
    }
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, chunks, chunks.values()))


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def _compressed(pixels: np.ndarray) -> bytes:
    """The compressed rows of pixels (filter 0), or of differences from the pixel on the left (1) if that is shorter."""
    filtered = enumerate((pixels, np.diff(pixels, axis=1, prepend=np.uint8(0))))
    return min((zlib.compress(np.insert(rows, 0, n, axis=1).tobytes(), 9) for n, rows in filtered), key=len)
