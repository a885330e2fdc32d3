-- Merge-on-read without meta columns.
-- reads: snapshot
set hoodie.index.type = SIMPLE;
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
partitioned by (city)
location '${path}'
tblproperties (type = 'mor', primaryKey = 'id', preCombineField = 'ts', hoodie.populate.meta.fields = 'false');
insert into ${table} values ('a', 1, 'one', 1.5, 'sf'), ('b', 1, null, -0.0D, 'rio'), ('c', 1, 'three', null, 'rio');
set hoodie.spark.sql.insert.into.operation = upsert;
insert into ${table} values ('a', 2, 'later', 1.5, 'sf');
