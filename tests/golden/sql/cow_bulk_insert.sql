-- Rows put in by bulk_insert, which has no inflight profile, and a key twice.
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
partitioned by (city)
location '${path}'
tblproperties (type = 'cow', primaryKey = 'id', preCombineField = 'ts');
set hoodie.spark.sql.insert.into.operation = bulk_insert;
insert into ${table} values ('a', 1, 'one', 1.5, 'sf'), ('b', 1, null, -0.0D, 'rio'), ('c', 1, 'three', null, 'rio');
insert into ${table} values ('a', 2, 'twin', 2.0, 'sf');
