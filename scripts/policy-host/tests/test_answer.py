"""Nothing that is no chunk is sent, and each is told in one line with expected and found."""

import unittest

import numpy as np

from holdfast_host.answer import BadAnswer, rows_of

SHAPE = (2, 3)


def nan_at(row: int, column: int, value: float) -> np.ndarray:
    rows = np.zeros(SHAPE)
    rows[row, column] = value
    return rows


class NoArray:
    def __array__(self, *_: object) -> np.ndarray:
        raise TypeError("it is on the GPU")


class AnswerTest(unittest.TestCase):
    def test_floats_of_any_width_become_float32_rows(self) -> None:
        for answer in (np.ones(SHAPE), np.ones(SHAPE, np.float16), [[1.0, 1.0, 1.0]] * 2):
            rows = rows_of(answer, SHAPE)
            self.assertEqual((rows.dtype, rows.tolist()), (np.float32, [[1, 1, 1]] * 2))

    def test_everything_else_is_told(self) -> None:
        shape = "act answered the wrong shape: expected (2, 3), 2 rows of 3, found "
        dtype = "act answered the wrong type: expected floats, found "
        number = "act answered no number at row 1, column 2: expected finite ones, found "
        cases = [
            (None, "act decided nothing: expected rows, found None (is a return missing?)"),
            (np.zeros((3, 2)), shape + "(3, 2)"),
            (np.zeros(3), shape + "(3,)"),
            (np.zeros((1, 2, 3)), shape + "(1, 2, 3)"),
            (np.zeros(SHAPE, int), dtype + "int64"),
            (np.zeros(SHAPE, bool), dtype + "bool"),
            (np.zeros(SHAPE, complex), dtype + "complex128"),
            ("no", dtype + "<U2"),
            (object(), dtype + "object"),
            (nan_at(1, 2, np.nan), number + "nan"),
            (nan_at(1, 2, -np.inf), number + "-inf"),
            (nan_at(1, 2, 1e300), number + "1e+300"),
            (NoArray(), "act answered no array: TypeError: it is on the GPU"),
        ]
        for answer, text in cases:
            with self.subTest(text), self.assertRaises(BadAnswer) as caught:
                rows_of(answer, SHAPE)
            self.assertEqual(str(caught.exception), text)
