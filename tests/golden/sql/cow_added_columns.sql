-- Columns added between commits, at the end and in a struct's.
-- reads: snapshot as_of
create table ${table} (id string, ts bigint, note string, place struct<a: int>, city string) using hudi
partitioned by (city)
location '${path}'
tblproperties (type = 'cow', primaryKey = 'id', preCombineField = 'ts');
insert into ${table} values ('a', 1, 'x', named_struct('a', 1), 'sf'), ('b', 1, 'y', named_struct('a', 2), 'rio');
alter table ${table} add columns (fare double, tags array<string>);
insert into ${table} (id, ts, note, place, fare, tags, city) values ('c', 1, 'z', named_struct('a', 3), 2.5, array('t'), 'sf');
update ${table} set fare = 7.0, ts = 2 where id = 'b';
