"""Images from a folder: one subfolder per class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...base.errors import DataError, UsageError, plain

_PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".pgm", ".ppm", ".webp")
# A picture that claims more pixels than this is refused before it is decoded.
_MOST_PIXELS = 50_000_000


def read_images(
    folder: str | Path, *, size: tuple[int, int] | None = None, grey: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Images (n, height, width[, channels]) and the names of the subfolders they lie in, in the order of their names.

    Pictures (PNG, JPEG and others, by Pillow) are bytes 0..255; `.npy` files are arrays (height, width[, channels]).
    `size` (height, width) resizes pictures; without it all must have one size. `grey` drops colours.

    >>> import tempfile, numpy as np
    >>> home = Path(tempfile.mkdtemp())
    >>> for label in ("cat", "dog"):
    ...     (home / label).mkdir()
    ...     np.save(home / label / "1.npy", np.zeros((4, 4)))
    >>> images, labels = read_images(home)
    >>> images.shape, labels
    ((2, 4, 4), array(['cat', 'dog'], dtype='<U3'))
    """
    who, home = "read_images", Path(folder)
    if not home.is_dir():
        raise DataError(who, f"folder '{plain(home)}'", "is not there", way_out="check the path")
    files = [
        (part.name, file)
        for part in sorted(home.iterdir())
        if part.is_dir() and not part.name.startswith(".")
        for file in sorted(part.iterdir())
        if file.suffix.lower() in (*_PICTURES, ".npy")
    ]
    if not files:
        raise DataError(
            who, f"folder '{plain(home)}'", "holds no images", way_out="put those of each class in a subfolder"
        )
    images: list[np.ndarray] = []
    for _, file in files:
        image = _array(who, file) if file.suffix.lower() == ".npy" else _picture(who, file, size, grey)
        if images and image.shape != images[0].shape:
            raise DataError(
                who,
                f"file '{plain(file)}'",
                f"has shape {image.shape} where the others have {images[0].shape}",
                way_out="give size=(height, width)" if file.suffix.lower() != ".npy" else "resize it first",
            )
        images.append(image)
    return np.stack(images), np.array([label for label, _ in files])


def _array(who: str, file: Path) -> np.ndarray:
    try:
        image = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(who, f"file '{plain(file)}'", "is no array", plain(error)) from None
    if image.dtype.kind not in "biuf" or image.ndim not in (2, 3):
        raise DataError(who, f"file '{plain(file)}'", "is no image", f"got shape {image.shape} of {image.dtype}")
    return image


def _picture(who: str, file: Path, size: tuple[int, int] | None, grey: bool) -> np.ndarray:
    try:
        from PIL import Image
    except ImportError:
        raise UsageError(who, "Pillow", "is needed to read pictures", way_out="pip install 'assay[neural]'") from None
    try:
        with Image.open(file) as opened:
            if opened.width * opened.height > _MOST_PIXELS:
                raise DataError(who, f"file '{plain(file)}'", f"has more than {_MOST_PIXELS:,} pixels")
            picture: Any = opened.convert("L" if grey or opened.mode in ("1", "L", "I;16") else "RGB")
            if size is not None:
                picture = picture.resize((int(size[1]), int(size[0])))
            return np.asarray(picture)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(who, f"file '{plain(file)}'", "cannot be read as a picture", plain(error)) from None
