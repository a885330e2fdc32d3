-- Hash buckets: rows are in log files that have no base file.
-- reads: snapshot read_optimized as_of incremental
set hoodie.index.type = BUCKET;
set hoodie.bucket.index.num.buckets = 2;
set hoodie.spark.sql.insert.into.operation = upsert;
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
partitioned by (city)
location '${path}'
tblproperties (type = 'mor', primaryKey = 'id', preCombineField = 'ts', hoodie.index.type = 'BUCKET', hoodie.bucket.index.num.buckets = '2');
insert into ${table} values ('a', 1, 'one', 1.5, 'sf'), ('b', 1, null, -0.0D, 'rio'), ('c', 1, 'three', null, 'rio');
update ${table} set note = 'later', ts = 2 where id = 'a';
delete from ${table} where id = 'b';
