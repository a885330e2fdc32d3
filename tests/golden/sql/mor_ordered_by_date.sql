-- Deletes with a date for their ordering value, one older than the stored row's; later releases cannot write such.
-- releases: 0.15.0
-- reads: snapshot
create table ${table} (id string, ts bigint, note string, fare double, day date) using hudi
location '${path}'
tblproperties (type = 'mor', primaryKey = 'id', preCombineField = 'day');
insert into ${table} values ('a', 1, 'one', 1.5, date'2026-01-05'), ('b', 1, null, -0.0D, date'2026-01-05'),
('c', 1, 'three', null, date'2026-01-05');
merge into ${table} t using (select 'a' as id, 2L as ts, 'older' as note, 1.5D as fare, date'2026-01-02' as day
union all select 'b', 2L, 'newer', 1.5D, date'2026-01-09') s on t.id = s.id
when matched then delete;
