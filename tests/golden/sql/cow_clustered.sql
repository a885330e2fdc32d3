-- Two small files clustered into one, sorted.
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
location '${path}'
tblproperties (type = 'cow', primaryKey = 'id', preCombineField = 'ts');
set hoodie.parquet.small.file.limit = 0;
insert into ${table} values ('a', 1, 'one', 1.5, 'sf'), ('b', 1, null, -0.0D, 'rio'), ('c', 1, 'three', null, 'rio');
insert into ${table} values ('z', 1, 'second file', 2.0, 'sf');
call run_clustering(table => '${table}', order => 'id');
update ${table} set ts = 2 where id = 'z';
