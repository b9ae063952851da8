import pytest

from assay import config
from assay.base import Cost, CostError, ParameterError, check_cost


def test_settings_last_for_the_block_only():
    before = config.get()
    with config.use(max_seconds=5, max_bytes=100):
        assert (config.get().max_seconds, config.get().max_bytes) == (5.0, 100.0)
    assert config.get() == before


def test_settings_must_be_positive():
    with pytest.raises(ParameterError, match="max_seconds"):
        config.set(max_seconds=0)


def test_refusal_names_the_need_the_limit_and_the_way_out():
    with config.use(max_bytes=1e6), pytest.raises(CostError) as caught:
        check_cost("Hierarchical", Cost(1.0, 8e10), "take a sample")
    assert str(caught.value) == (
        "Hierarchical: this fit needs about 80.0 GB of memory and the limit is 1.0 MB; "
        "take a sample, or raise the limit with assay.config.set(max_bytes=...)."
    )


def test_default_memory_limit_is_what_the_machine_has():
    assert 0 < config.memory_limit() < 1e15
