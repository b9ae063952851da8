"""Convolution and max pooling on the course's 6 x 6 image of a 1."""

import numpy as np
import pytest

from assay.models.neural import ConvNet

pytest.importorskip("torch")


def test_the_upright_line_of_the_course():
    """The 6 x 6 image of a 1, the kernel of upright lines without padding, and 2 x 2 max pooling."""
    image = np.zeros((6, 6))
    image[:, 2] = 1.0
    image[1, 1] = 1.0
    model = ConvNet(layers=["conv 1 3x3 padding=0", "pool 2"], max_iter=1)
    model.fit(np.stack([image, image.T]), ["1", "-"])
    model.center_, model.scale_ = np.zeros(1), np.ones(1)
    model.parameters_["0.weight"] = np.array([[[[0, 1, 0]] * 3]], dtype=np.float32).reshape(1, 1, 3, 3)
    model.parameters_["0.bias"] = np.zeros(1, dtype=np.float32)
    convolved, pooled = model.feature_maps(image[None])
    np.testing.assert_array_equal(convolved[0, :, :, 0], [[1, 3, 0, 0], [1, 3, 0, 0], [0, 3, 0, 0], [0, 3, 0, 0]])
    np.testing.assert_array_equal(pooled[0, :, :, 0], [[3, 0], [3, 0]])
