import itertools
import re

import pytest
from tests.conformance.locks import LockTests, QuickEnv
from tests.new_states import new_state

from pyhudi.errors import LockNotAcquired, OptionError, StorageUnavailable
from pyhudi.options import Settings
from pyhudi.storage.process import process_name
from pyhudi.txn.locks import lock_for
from pyhudi.txn.locks.zookeeper import ZooKeeperLock, zookeeper_lock

_numbers = itertools.count()
KEY = "hoodie.write.lock.zookeeper."


def lock(hosts, path, wait_ms=0, **more):
    return ZooKeeperLock(hosts=hosts, path=path, env=QuickEnv(), wait_ms=wait_ms, **more)


@pytest.fixture
def path():
    return f"/hudi/locks/trips{next(_numbers)}"


@pytest.mark.services
class TestZooKeeper(LockTests):
    @pytest.fixture
    def make(self, zookeeper, path):
        return lambda wait_ms: lock(zookeeper.hosts, path, wait_ms)


@pytest.mark.services
def test_the_node_is_spelled_as_curators_and_goes_with_the_lock(zookeeper, path):
    one = lock(zookeeper.hosts, path)
    with one.hold() as lease, one._connected() as client:
        (name,) = client.get_children(path)
        assert re.fullmatch(r"_c_[0-9a-f-]{36}-lock-\d{10}", name)
        data, about = client.get(f"{path}/{name}")
        assert data.decode() == process_name()
        assert about.ephemeralOwner != 0
        assert 0 < lease.remaining_ms() <= 40_000
        client.delete(f"{path}/{name}")
        assert lease.remaining_ms() == 0
    assert one.look() is None


@pytest.mark.services
def test_a_curator_that_came_first_is_waited_for_and_one_that_comes_later_waits(zookeeper, path):
    mine = lock(zookeeper.hosts, path, 30)
    with mine._connected() as client:
        first = client.create(f"{path}/_c_0ee1-lock-", b"10.0.0.1", ephemeral=True, sequence=True, makepath=True)
        with pytest.raises(LockNotAcquired, match="ZooKeeper"), mine.hold():
            pass
        assert mine.look().owner == "10.0.0.1"
        client.delete(first)
        with mine.hold():
            client.create(f"{path}/_c_0000-lock-", b"10.0.0.2", ephemeral=True, sequence=True)
            assert mine.look().owner == process_name()


@pytest.mark.services
def test_the_lock_of_a_session_that_ended_is_free(zookeeper, path):
    with lock(zookeeper.hosts, path)._connected() as dead:
        dead.create(f"{path}/_c_dead-lock-", b"dead", ephemeral=True, sequence=True, makepath=True)
    with lock(zookeeper.hosts, path).hold():
        pass


@pytest.mark.services
def test_only_what_was_seen_is_released(zookeeper, path):
    one = lock(zookeeper.hosts, path)
    with one._connected() as client:
        client.create(f"{path}/_c_java-lock-", b"java", ephemeral=True, sequence=True, makepath=True)
        sight = one.look()
        one.release(sight)
        with pytest.raises(LockNotAcquired, match="holder has changed"):
            one.release(sight)
        assert client.get_children(path) == []


@pytest.mark.services
def test_it_is_chosen_by_hudis_class_name_and_keys(zookeeper):
    said = {
        "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.ZookeeperBasedLockProvider",
        f"{KEY}url": "127.0.0.1",
        f"{KEY}port": str(zookeeper.port),
        f"{KEY}base_path": "/hudi/locks/",
    }
    with lock_for(new_state(), Settings(said)).hold() as lease:
        assert lease.node.startswith("/hudi/locks/trips/")


def test_nobody_there_is_said_after_the_connection_timeout(path):
    with pytest.raises(StorageUnavailable, match="check the url"), lock("127.0.0.1:9", path, connection_ms=100).hold():
        pass


@pytest.mark.parametrize(
    ("said", "problem"),
    [({"base_path": "/a"}, "needs its servers"), ({"url": "h:1", "base_path": "a"}, "starts with /")],
)
def test_what_is_missing_is_named(said, problem):
    with pytest.raises(OptionError, match=problem):
        zookeeper_lock(new_state(), Settings({f"{KEY}{name}": text for name, text in said.items()}), 0)


def test_ports_are_added_to_servers_without_one():
    said = {f"{KEY}url": "a,b:3", f"{KEY}port": "2", f"{KEY}base_path": "/x/", f"{KEY}lock_key": "k"}
    made = zookeeper_lock(new_state(), Settings(said), 0)
    assert (made.hosts, made.path) == ("a:2,b:3", "/x/k")
