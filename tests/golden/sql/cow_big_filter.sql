-- Bloom filters of the default size, and simple ones.
-- reads: snapshot
set hoodie.index.bloom.num_entries = 60000;
set hoodie.bloom.index.filter.dynamic.max.entries = 100000;
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
location '${path}'
tblproperties (type = 'cow', primaryKey = 'id', preCombineField = 'ts');
insert into ${table} values ('a', 1, 'one', 1.5, 'sf'), ('b', 1, null, -0.0D, 'rio'), ('c', 1, 'three', null, 'rio');
set hoodie.bloom.index.filter.type = SIMPLE;
update ${table} set note = 'later', ts = 2 where id = 'a';
