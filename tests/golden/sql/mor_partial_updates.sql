-- Merge into with partial updates: logs hold the changed columns only; an older one behind a newer one.
-- releases: 1.2.0 1.0.2
-- reads: snapshot read_optimized as_of
set hoodie.spark.sql.merge.into.partial.updates = true;
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
location '${path}'
tblproperties (type = 'mor', primaryKey = 'id', preCombineField = 'ts');
insert into ${table} values ('a', 1, 'one', 1.5, 'sf'), ('b', 1, null, -0.0D, 'rio'), ('c', 5, 'three', null, 'rio');
merge into ${table} t using (select 'a' as id, 2L as ts, 'partly' as note union all select 'c', 3L, 'older') s on t.id = s.id
when matched then update set ts = s.ts, note = s.note;
merge into ${table} t using (select 'a' as id, 4L as ts, 9.5D as fare union all select 'b', 4L, 4.5D) s on t.id = s.id
when matched then update set ts = s.ts, fare = s.fare;
merge into ${table} t using (select 'a' as id, 3L as ts, 'late' as note, 0.5D as fare) s on t.id = s.id
when matched then update set ts = s.ts, note = s.note, fare = s.fare;
