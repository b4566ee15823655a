#!/usr/bin/env python3
"""Makes png/, jpeg/ and ppm/, pictures of every kind and what PIL's convert("RGB") makes of them.

  python3 make_picture_golden.py      in an environment with Pillow, torchvision and numpy; writes beside this script

A picture has 5 x 7 pixels, those of JPEG 21 x 35: parts of blocks. NAME.png and NAME.jpg belong to ppm/NAME.ppm; those
that kern refuses have none. ppm/resize_HEIGHT_WIDTH.ppm and ppm/fill_HEIGHT_WIDTH.ppm are torchvision's Resize((HEIGHT, WIDTH)),
and Resize(n) and CenterCrop(n), of ppm/noise.ppm.
"""
import pathlib
import struct
import zlib

import numpy as np
from PIL import Image
from torchvision import transforms as T

HERE = pathlib.Path(__file__).resolve().parent


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def raw_png(path, bit_depth, color, rows, extra=b"", interlace=0):
    header = struct.pack(">IIBBBBB", 7, 5, bit_depth, color, 0, 0, interlace)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(rows, 9)) +
                     chunk(b"IEND", b""))


def rows_of(values, bits):
    """Rows with filter 0, values packed in `bits` each."""
    rows = b""
    for row in values:
        digits = "".join(format(v, f"0{bits}b") for v in row.flatten())
        digits += "0" * (-len(digits) % 8)
        rows += b"\0" + bytes(int(digits[i:i + 8], 2) for i in range(0, len(digits), 8))
    return rows


def main():
    def png(name):
        return HERE / "png" / f"{name}.png"

    def expect(path):
        Image.open(path).convert("RGB").save(HERE / "ppm" / f"{path.stem}.ppm")

    noise = np.random.default_rng(0).integers
    for mode, channels in [("L", ()), ("LA", (2,)), ("RGB", (3,)), ("RGBA", (4,))]:
        name = {"L": "gray", "LA": "gray_alpha", "RGB": "rgb", "RGBA": "rgba"}[mode]
        Image.fromarray(noise(0, 256, (5, 7, *channels), dtype=np.uint8), mode).save(png(name))
        expect(png(name))
    for bits in (1, 2, 4):
        raw_png(png(f"gray{bits}"), bits, 0, rows_of(noise(0, 2**bits, (5, 7)), bits))
        expect(png(f"gray{bits}"))
    palette = chunk(b"PLTE", bytes(noise(0, 256, 12, dtype=np.uint8)))
    rows = rows_of(noise(0, 4, (5, 7)), 2)
    raw_png(png("palette"), 2, 3, rows, palette)
    raw_png(png("palette_alpha"), 2, 3, rows, palette + chunk(b"tRNS", bytes([0, 128, 255])))
    rgb = noise(0, 256, (5, 7, 3))
    key = struct.pack(">HHH", *rgb[2, 3])
    raw_png(png("rgb_key"), 8, 2, rows_of(rgb, 8), chunk(b"tRNS", key))
    raw_png(png("gamma"), 8, 2, rows_of(rgb, 8), chunk(b"gAMA", struct.pack(">I", 100000)))
    # Adam7: the seven passes' pixels.
    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    parts = [rgb[y::dy, x::dx] for y, x, dy, dx in passes]
    raw_png(png("interlaced"), 8, 2, b"".join(rows_of(p, 8) for p in parts if p.size), interlace=1)
    for name in ("palette", "palette_alpha", "rgb_key", "gamma", "interlaced"):
        expect(png(name))
    raw_png(png("rgb16"), 16, 2, rows_of(noise(0, 65536, (5, 7, 3)), 16))  # refused

    y, x = np.mgrid[:21, :35]
    smooth = np.stack([7 * x, 11 * y, 255 - 3 * x - 4 * y], -1).clip(0, 255).astype(np.uint8)
    picture = Image.fromarray(smooth)
    for name, image, options in [("jpeg_444", picture, {"subsampling": 0}), ("jpeg_422", picture, {"subsampling": 1}),
                                 ("jpeg_420", picture, {"subsampling": 2}),
                                 ("jpeg_progressive", picture, {"progressive": True}),
                                 ("jpeg_gray", picture.convert("L"), {})]:
        path = HERE / "jpeg" / f"{name}.jpg"
        image.save(path, quality=90, **options)
        expect(path)
    picture.convert("CMYK").save(HERE / "jpeg" / "cmyk.jpg", quality=90)  # refused

    picture = Image.fromarray(noise(0, 2, (21, 34, 3), dtype=np.uint8) * 255)  # black and white: the most extreme
    picture.save(HERE / "ppm" / "noise.ppm")
    for size in [(21, 34), (8, 8), (21, 5), (50, 34), (43, 60), (1, 1), (30, 11)]:
        T.Resize(size)(picture).save(HERE / "ppm" / f"resize_{size[0]}_{size[1]}.ppm")
    for size in [8, 21, 30]:
        T.Compose([T.Resize(size), T.CenterCrop(size)])(picture).save(HERE / "ppm" / f"fill_{size}_{size}.ppm")


if __name__ == "__main__":
    main()
