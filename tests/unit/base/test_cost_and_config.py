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


@pytest.mark.parametrize("version", [1, 2])
def test_the_limit_of_a_container_counts_where_it_is_the_lower_one(tmp_path, version):
    names = ("memory.max", "memory.current", "inactive_file")
    told, top = "0::/pods/one", tmp_path / "root"
    if version == 1:
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        told, top = "5:cpu:/elsewhere\n4:memory:/pods/one", tmp_path / "root" / "memory"
    group = top / "pods" / "one"
    group.mkdir(parents=True)
    (tmp_path / "cgroup").write_text(told + "\n")
    where = str(tmp_path / "cgroup"), str(tmp_path / "root")
    assert config._limited_groups(*where) == ()
    assert config._left_of_groups(()) == float("inf")
    config._limited_groups.cache_clear()
    (group / names[0]).write_text("max\n" if version == 2 else f"{2**63 - 4096}\n")
    (group.parent / names[0]).write_text("2000000000\n")
    (group.parent / names[1]).write_text("1500000000\n")
    (group.parent / "memory.stat").write_text(f"anon 1\n{names[2]} 700000000\n")
    limits = config._limited_groups(*where)
    assert [limit.parent.name for limit in limits] == ["pods"]
    assert config._left_of_groups(limits) == 1_200_000_000
    config._limited_groups.cache_clear()
