-- Merge into with partial updates: logs hold the changed columns only.
-- releases: 1.2.0 1.0.2
-- reads: snapshot read_optimized as_of
set hoodie.spark.sql.merge.into.partial.updates = true;
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
partitioned by (city)
location '${path}'
tblproperties (type = 'mor', primaryKey = 'id', preCombineField = 'ts');
insert into ${table} values ('a', 1, 'one', 1.5, 'sf'), ('b', 1, null, -0.0D, 'rio'), ('c', 1, 'three', null, 'rio');
merge into ${table} t using (select 'a' as id, 2L as ts, 'partly' as note, 'sf' as city) s on t.id = s.id
when matched then update set ts = s.ts, note = s.note;
merge into ${table} t using (select 'a' as id, 3L as ts, 9.5D as fare, 'sf' as city) s on t.id = s.id
when matched then update set ts = s.ts, fare = s.fare;
