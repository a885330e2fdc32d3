"""A store that fails below `settle`, where object stores do: what an error of a conditional put means is found out."""

from contextlib import contextmanager
from dataclasses import replace

from tests.faulty import FaultyStorage

from pyhudi.errors import PutUnknown, StorageUnavailable
from pyhudi.storage.api import PutMode
from pyhudi.storage.object_store.settle import ConditionalPut, settle
from pyhudi.storage.sinks import MemorySink

TIMEOUT_S = 60


class SettledStorage(FaultyStorage):
    """An object store over the inner one: its faults befall single requests, not the calls that are made of them."""

    @property
    def traits(self):
        return replace(super().traits, has_guard=False, is_shared=True)

    def put(self, path, data, mode=PutMode.OVERWRITE):
        send = super().put
        if mode is PutMode.CREATE:
            self._settle(path, data, None, lambda: send(path, data, mode) or "")
        else:
            send(path, data, mode)

    def cas(self, path, data, version):
        send = super().cas
        return self._settle(path, data, version, lambda: send(path, data, version))

    @contextmanager
    def open_output(self, path, mode=PutMode.OVERWRITE):
        if mode is PutMode.OVERWRITE:
            with super().open_output(path, mode) as sink:
                yield sink
            return
        sink = MemorySink()
        yield sink
        self.put(path, bytes(sink.getvalue()), mode)

    def _settle(self, path, data, version, send):
        def sent():
            try:
                return send()
            except PutUnknown as error:
                raise StorageUnavailable("the store did not answer", path=path) from error

        put = ConditionalPut(path=path, data=data, version=version, send=sent, read=lambda: self.get_versioned(path))
        return settle(put, self._env, TIMEOUT_S)
