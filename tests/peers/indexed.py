"""A table of both sides with a row a day, and filters that indexes answer: both find the rows there are.

Start at `Indexed`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from tests.peers.peer import Peer
from tests.peers.sides import BOTH_WAYS

import pyhudi

__all__ = ["BEGIN", "DAY", "WAYS", "Indexed"]

BEGIN, DAY = 1_700_006_400, 86_400
WAYS: Final[tuple[Mapping[str, str], ...]] = (
    *BOTH_WAYS,
    {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "false"},
)
"""How Apache Hudi is told to use indexes or not; the first way is with them."""
_SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64()), ("note", pa.string())])
_APART = {"hoodie.parquet.small.file.limit": "0"}


class Indexed:
    """Two rows a day for four days, and what comes and goes since; a city is the first letter of an id."""

    def __init__(
        self,
        peer: Peer,
        path: str,
        version: int,
        kind: str,
        partition_by: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
    ) -> None:
        """Make the table; `options` are those of the writes of both sides."""
        self.peer, self.path, self.name = peer, path, f"indexed_{kind}_{version}_{abs(hash(path)) % 10**6}"
        self.options = dict(options or {})
        self.rows: dict[str, dict[str, Any]] = {}
        self.table = pyhudi.create_table(
            path,
            _SCHEMA,
            name="trips",
            record_key=["id"],
            partition_by=list(partition_by) or None,
            ordering=["ts"],
            table_type=kind,
            table_version=version,
        )
        for day in range(4):
            self.ours(day, f"a{day}", f"b{day}")
        peer.run(f"create table {self.name} using hudi location '{path}'")
        self.tell(
            {
                **WAYS[0],
                "spark.sql.session.timeZone": "UTC",
                "hoodie.embed.timeline.server": "false",
                "hoodie.write.table.version": str(version),
                "hoodie.write.auto.upgrade": "false",
                "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
                **self.options,
            }
        )

    def tell(self, settings: Mapping[str, str]) -> None:
        """Set what Apache Hudi's session is to do."""
        for name, text in settings.items():
            self.peer.run(f"set {name}={text}")

    def ours(self, day: int, *ids: str) -> None:
        """Write rows of a day, new ones to files of their own."""
        made = [{"id": one, "city": one[0], "ts": BEGIN + day * DAY, "note": f"N{day}"} for one in ids]
        self.table.upsert(made, options=_APART | self.options)
        self.rows |= {one["id"]: one for one in made}

    def ours_gone(self, *ids: str) -> None:
        """Delete rows."""
        self.table.delete(keys=list(ids), options=self.options)
        for one in ids:
            del self.rows[one]

    def theirs(self, changed: str, new: str, gone: str) -> None:
        """Let Apache Hudi give a row another value, bring a row, and delete one."""
        self.peer.run(f"refresh table {self.name}")
        self.peer.run(f"update {self.name} set note = 'N3', ts = ts + 1 where id = '{changed}'")
        self.rows[changed] |= {"note": "N3", "ts": self.rows[changed]["ts"] + 1}
        row = {"id": new, "city": new[0], "ts": BEGIN, "note": "N1"}
        columns = "id, city, ts, note"
        self.peer.run(f"insert into {self.name} ({columns}) values ('{new}', '{new[0]}', {BEGIN}, 'N1')")
        self.rows[new] = row
        self.peer.run(f"delete from {self.name} where id = '{gone}'")
        del self.rows[gone]

    def where(self, is_wanted: Callable[[dict[str, Any]], bool]) -> list[str]:
        """Return the ids of rows."""
        return sorted(key for key, row in self.rows.items() if is_wanted(row))

    def judge(self, filters: Mapping[str, list[str]], ways: Iterable[Mapping[str, str]] = WAYS[:1]) -> None:
        """Ask both sides by filters for ids, Apache Hudi in several ways."""
        table = pyhudi.open_table(self.path)
        for text, wanted in filters.items():
            assert sorted(table.scan(filter=text).to_arrow()["id"].to_pylist()) == wanted, ("ours", text)
        for way in ways:
            found = self.found(list(filters), way)
            for text, wanted in filters.items():
                assert found[text] == wanted, ("theirs", way, text)
        self.tell(WAYS[0])

    def found(self, filters: Sequence[str], way: Mapping[str, str]) -> dict[str, list[str]]:
        """Ask Apache Hudi in one way for the ids of each filter, of which it plans every one by itself."""
        self.tell(way)
        self.peer.run(f"refresh table {self.name}")
        each = [f"select {number} as asked, id from {self.name} where {text}" for number, text in enumerate(filters)]
        rows = self.peer.sql(" union all ".join(each)).to_pylist()
        return {text: sorted(row["id"] for row in rows if row["asked"] == at) for at, text in enumerate(filters)}

    def kept(self) -> set[str]:
        """Return the names of the indexes that the table has."""
        return set(pyhudi.open_table(self.path).inspect.indexes()["name"].to_pylist())
