from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from duelwise.errors import StorageFailure
from duelwise.storage import pack, unpack
from duelwise.types import JSON, AnyArray

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
arrays = hnp.arrays(
    st.sampled_from([np.float64, np.int64, np.bool_, np.uint8, np.float32]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


@given(st.dictionaries(st.text(), scalars, max_size=4), st.dictionaries(st.text(), arrays, max_size=3))
def test_what_is_packed_comes_back_bit_for_bit(fields: dict[str, JSON], named: dict[str, AnyArray]) -> None:
    fields_back, named_back = unpack(pack(fields, named))
    assert fields_back == fields
    assert named_back.keys() == named.keys()
    for name, array in named.items():
        back = named_back[name]
        assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, array.shape, array.tobytes())
        assert back.flags.writeable
        assert back.flags.aligned


def test_strided_arrays_keep_their_order() -> None:
    array = np.arange(12.0).reshape(3, 4).T[::2]
    assert np.array_equal(unpack(pack({}, {"a": array}))[1]["a"], array)


def test_objects_are_refused() -> None:
    with pytest.raises(TypeError, match="only numbers"):
        pack({}, {"a": np.array([{}])})


def test_numbers_of_numpy_are_packed_but_for_those_that_python_has_none_like() -> None:
    assert unpack(pack(cast("Any", {"a": np.float32(0.5), "b": np.str_("x")}), {}))[0] == {"a": 0.5, "b": "x"}
    with pytest.raises(TypeError, match="longdouble"):
        pack({"a": cast("Any", np.longdouble(0.5))}, {})


@pytest.mark.parametrize("data", [b"", b"DW", b"DW\x02\x00\x00\x00\x00\x00", b"PK\x01\x00\x02\x00\x00\x00[]"])
def test_foreign_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(StorageFailure, match="expected format 1"):
        unpack(data)
