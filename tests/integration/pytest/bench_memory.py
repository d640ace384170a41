"""Three benchmarks whose allocations can be counted by hand; test_pytest.c knows them by size."""
import json

try:
    import numpy
except ImportError:
    numpy = None

import pytest

TEXT = json.dumps([f"{i:01000d}" for i in range(300)])


def build_list():
    return [bytearray(7919) for _ in range(500)]


def parse_text():
    return json.loads(TEXT)


def build_arrays():
    return [numpy.empty(5003, numpy.uint8) for _ in range(200)]


def test_list_building(benchmark):
    assert len(benchmark(build_list)) == 500


def test_json(benchmark):
    assert len(benchmark(parse_text)) == 300


@pytest.mark.skipif(numpy is None, reason="numpy is not installed")
def test_numpy(benchmark):
    assert len(benchmark(build_arrays)) == 200
