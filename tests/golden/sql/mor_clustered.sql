-- Clustered, logs and all.
-- reads: snapshot read_optimized
set hoodie.parquet.small.file.limit = 0;
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
location '${path}'
tblproperties (type = 'mor', primaryKey = 'id', preCombineField = 'ts');
insert into ${table} values ('a', 1, 'one', 1.5, 'sf'), ('b', 1, null, -0.0D, 'rio'), ('c', 1, 'three', null, 'rio');
insert into ${table} values ('z', 1, 'second file', 2.0, 'sf');
update ${table} set note = 'later', ts = 2 where id = 'a';
call run_clustering(table => '${table}');
update ${table} set note = 'after', ts = 3 where id = 'z';
