"""Electron or helium nucleus? Hand-made features with boosting against a convolutional net, on simulated recoil tracks.

Background rejection at 50 % and 90 % signal efficiency, by energy, with intervals; the two are compared on the same
images, with thresholds chosen anew in every bootstrap draw. `--full` takes more images and writes the figures.
"""

import argparse
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np

from assay.base.chart import Chart, Line
from assay.data import recoil_tracks
from assay.evaluate import bootstrap_interval, delong, wilson_interval
from assay.models.ensembles import NewtonBoostingClassifier
from assay.models.neural import ConvNet

BINS = ((1, 4), (4, 8), (8, 15), (15, 30))
EFFICIENCIES = (0.5, 0.9)
NOISE = 2.0


def features(images: np.ndarray) -> np.ndarray:
    """Of each track: light, length, width, light per length, brightest pixel, curvature, head against tail."""
    size = images.shape[1]
    # Light above twice the noise, in a running mean of 3 x 3 pixels where noise is a third.
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    smooth = sum(padded[:, i : i + size, j : j + size] for i in range(3) for j in range(3)) / 9
    light = np.maximum(smooth - 2 * NOISE / 3, 0.0) + 1e-12
    total = light.sum(axis=(1, 2))
    y, x = np.mgrid[:size, :size]

    def mean(values):
        return (light * values).sum(axis=(1, 2)) / total

    dx, dy = x - mean(x)[:, None, None], y - mean(y)[:, None, None]
    angle = 0.5 * np.arctan2(2 * mean(dx * dy), mean(dx**2) - mean(dy**2))[:, None, None]
    along, across = dx * np.cos(angle) + dy * np.sin(angle), dy * np.cos(angle) - dx * np.sin(angle)
    length, width = 4 * np.sqrt(mean(along**2)), 4 * np.sqrt(mean(across**2))
    # The least-squares parabola of the track about its axis.
    centred = along**2 - mean(along**2)[:, None, None]
    curvature = np.abs(mean(centred * across)) / (mean(centred**2) + 1e-12) * length
    skewness = np.abs(mean(along**3)) / (mean(along**2) ** 1.5 + 1e-12)
    brightest = smooth.max(axis=(1, 2))
    return np.column_stack([total, length, width, total / length, brightest, curvature, skewness])


def kept_background(efficiency):
    """A metric: the share of background above the threshold that keeps this share of the signal."""

    def kept(signal, scores):
        signal, scores = np.asarray(signal), np.asarray(scores)
        threshold = np.quantile(scores[signal == 1], 1 - efficiency, method="lower")
        return float((scores[signal == 0] >= threshold).mean())

    return kept


def share_and_interval(signal, scores, metric, options):
    """The share of background kept with its 95 % interval: Wilson's where no background is left to draw."""
    share = metric(signal, scores)
    if share == 0.0:
        return share, wilson_interval(0, int((signal == 0).sum()))
    return share, bootstrap_interval(signal, scores, metric, **options).interval


def rejection(share):
    """One over the share of background kept."""
    return float("inf") if share <= 0 else 1 / share


def draw_tracks(made) -> str:
    """Six tracks as a picture: nuclei above, electrons below, from low to high energy."""
    size = made.images.shape[1]
    cell, marks = 3, []
    for row, kind in enumerate(("nuclear", "electron")):
        here = np.flatnonzero(made.labels == kind)
        chosen = [here[np.abs(made.energy[here] - energy).argmin()] for energy in (3, 10, 25)]
        for column, index in enumerate(chosen):
            left, top = column * (size * cell + 12), 18 + row * (size * cell + 30)
            words = f"{kind}, {made.energy[index]:.0f} keV"
            marks.append(f'<text x="{left}" y="{top - 5}" font-size="12" fill="#777">{words}</text>')
            picture = np.clip(made.images[index] / made.images[index].max(), 0, 1)
            shades = np.round(7 * (1 - picture)).astype(int)  # eight shades, white left out, equal neighbours as one
            for i in range(size):
                edges = [0, *(np.flatnonzero(np.diff(shades[i])) + 1).tolist(), size]
                for j, end in pairwise(edges):
                    if shades[i, j] < 7:
                        place = f'x="{left + j * cell}" y="{top + i * cell}" width="{(end - j) * cell}"'
                        grey = 3 * f"{2 * shades[i, j]:x}"
                        marks.append(f'<rect {place} height="{cell}" fill="#{grey}"/>')
    width, height = 3 * (size * cell + 12), 2 * (size * cell + 30) + 8
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">{"".join(marks)}</svg>'


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", help="more images, and the figures")
    parser.add_argument("--figures", type=Path, default=Path("docs/images"), help="where they go")
    given = parser.parse_args()
    n_train, n_test, size, epochs, draws = (6000, 10000, 32, 10, 400) if given.full else (400, 600, 16, 4, 60)

    train = recoil_tracks(n_train, size=size, noise=NOISE, random_state=1)
    test = recoil_tracks(n_test, size=size, noise=NOISE, random_state=2)
    boosting = NewtonBoostingClassifier(early_stopping=True, random_state=0)
    boosting.fit(features(train.images), train.labels)
    net = ConvNet(
        layers=["conv 16", "pool 2", "conv 32", "pool 2", "dense 32", "dropout 0.3"],
        augment=["flip", "flip-vertical", "rotate"],  # a recoil has no preferred direction
        early_stopping=True,
        learning_rate="cosine",
        learning_rate_init=2e-3,
        max_iter=epochs,
        random_state=0,
    ).fit(train.images, train.labels)
    signal = (test.labels == "nuclear").astype(int)
    scores = {
        "features + boosting": boosting.predict_proba(features(test.images))[:, 1],
        "convnet": net.predict_log_proba(test.images)[:, 1] - net.predict_log_proba(test.images)[:, 0],
    }
    names = tuple(scores)
    a, b = scores.values()
    print(net.explain())
    print(delong(signal, b, a, names=names[::-1]).sentence)

    # Eight comparisons are made: each interval of a difference is at the level that all of them hold at once.
    level = 1 - 0.05 / (len(BINS) * len(EFFICIENCIES))
    drawn = {(name, e): [] for name in names for e in EFFICIENCIES}
    print(f"{'energy':>10} {'efficiency':>10}  {names[0] + ' (95 %)':>32} {names[1] + ' (95 %)':>32}  verdict")
    for low, high in BINS:
        here = (test.energy >= low) & (test.energy < high)
        for e in EFFICIENCIES:
            metric, options = kept_background(e), {"n_replicates": draws, "method": "percentile", "random_state": 0}
            said = []
            for name, values in scores.items():
                share, interval = share_and_interval(signal[here], values[here], metric, options)
                ends = [rejection(interval[1]), rejection(share), rejection(interval[0])]
                drawn[name, e].append(ends)
                said.append(f"{ends[1]:8.1f} ({ends[0]:.1f} to {ends[2]:.1f})")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # where neither keeps any background there is no difference to show
                gap = bootstrap_interval(signal[here], b[here], metric, second=a[here], confidence=level, **options)
            below, above = gap.interval
            verdict = (
                "no difference shown" if below <= 0 <= above else f"{names[1] if above < 0 else names[0]} is better"
            )
            print(f"{low:3}-{high} keV {e:10.0%}  {said[0]:>32} {said[1]:>32}  {verdict}")

    if given.full:
        given.figures.mkdir(parents=True, exist_ok=True)
        (given.figures / "recoil-tracks.svg").write_text(draw_tracks(test))
        middles, lines = [(low + high) / 2 for low, high in BINS], []
        for k, ((name, e), ends) in enumerate(drawn.items()):
            low, value, high = (np.minimum(column, 1e4) for column in np.array(ends).T)
            x = [m + 0.15 * (k - 1.5) for m in middles]
            style = {"token": "accent" if name == names[1] else "muted", "dash": "" if e == 0.5 else "4 3"}
            lines.append(Line(x, value, f"{name}, {e:.0%}", low=low, high=high, band=False, marker=True, **style))
        chart = Chart("Background rejection", "energy (keV)", "background rejection", tuple(lines), log_y=True)
        (given.figures / "recoil-rejection.svg").write_text(chart.to_svg(640, 420))
        (given.figures / "recoil-saliency.svg").write_text(net.saliency_view(test.images[0]).to_svg())


if __name__ == "__main__":
    main()
