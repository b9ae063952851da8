"""The damped Newton driver: descent from anywhere, damping where the model is wrong, honest endings."""

from __future__ import annotations

import numpy as np
import pytest

from assay.numeric.newton import Point, damped_newton


class Valley:
    """Rosenbrock's function with its Hessian, which is indefinite in places."""

    def __init__(self):
        self.lengths = []

    def at(self, x):
        return Point(x, 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2)

    def gradient(self, x):
        return np.array([-400.0 * x[0] * (x[1] - x[0] ** 2) - 2.0 * (1.0 - x[0]), 200.0 * (x[1] - x[0] ** 2)])

    def step(self, point, damping):
        x = point.coefficients
        hessian = np.array([[1200.0 * x[0] ** 2 - 400.0 * x[1] + 2.0, -400.0 * x[0]], [-400.0 * x[0], 200.0]])
        return -np.linalg.solve(hessian + damping * np.eye(2), self.gradient(x))

    def slope(self, point, step):
        return float(self.gradient(point.coefficients) @ step)

    def verdict(self, point, step, slope, damping):
        return "converged" if np.abs(step).max() < 1e-7 and damping == 0.0 else None

    def moved(self, length, damping):
        self.lengths.append(length)

    def stuck(self, point):
        return "stalled"


@pytest.mark.parametrize("start", [(-1.2, 1.0), (0.0, 2.0), (5.0, -3.0), (1.0, 1.0)])
def test_the_minimum_is_found_from_anywhere(start):
    search = Valley()
    end = damped_newton(search, search.at(np.array(start)), 200)
    assert end.status == "converged"
    assert end.point.coefficients + end.last_step == pytest.approx([1.0, 1.0], abs=1e-12)


def test_steps_are_halved_and_damped_where_the_model_is_wrong():
    search = Valley()
    damped_newton(search, search.at(np.array([0.0, 2.0])), 200)
    assert min(search.lengths) < 1.0


def test_the_objective_never_rises():
    search = Valley()
    values = [search.at(np.array([-1.2, 1.0])).value]
    for count in range(1, 15):
        values.append(damped_newton(search, search.at(np.array([-1.2, 1.0])), count).point.value)
    assert (np.diff(values) <= 0).all()


def test_the_limit_is_said():
    search = Valley()
    end = damped_newton(search, search.at(np.array([-1.2, 1.0])), 2)
    assert end.status == "max_iter" and end.n_iter == 2 and end.last_step is None


def test_a_search_without_a_way_down_ends():
    class Wall(Valley):
        def at(self, x):
            return Point(x, 0.0 if (x == 0).all() else np.inf)

        def slope(self, point, step):
            return -1.0

    end = damped_newton(Wall(), Wall().at(np.zeros(2)), 100)
    assert end.status == "stalled" and end.last_step is None


def test_a_search_may_bring_the_length_of_its_steps():
    class Line(Valley):
        def line(self, point, step, slope):
            assert slope == self.slope(point, step)
            lengths = np.linspace(0.0, 2.0, 2001)[1:]
            places = [self.at(point.coefficients + length * step) for length in lengths]
            best = int(np.argmin([place.value for place in places]))
            return lengths[best], places[best]

    search = Line()
    end = damped_newton(search, search.at(np.array([-1.2, 1.0])), 200, line=search.line)
    assert end.status == "converged" and end.n_iter == len(search.lengths) + 1
    assert end.point.coefficients + end.last_step == pytest.approx([1.0, 1.0], abs=1e-9)
    assert max(search.lengths) > 1.0
    few = Line()
    assert damped_newton(few, few.at(np.array([-1.2, 1.0])), 3, line=few.line).status == "max_iter"
    assert len(few.lengths) == 3
