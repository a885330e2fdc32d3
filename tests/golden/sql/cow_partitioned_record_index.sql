-- A record index for each partition, with names that paths must spell.
-- releases: 1.2.0
-- reads: snapshot
set hoodie.metadata.enable = true;
set hoodie.metadata.record.level.index.enable = true;
set hoodie.metadata.index.column.stats.enable = false;
set hoodie.metadata.index.partition.stats.enable = false;
set hoodie.metadata.record.index.min.filegroup.count = 1;
set hoodie.metadata.record.index.max.filegroup.count = 1;
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
partitioned by (city)
location '${path}'
tblproperties (type = 'cow', primaryKey = 'id', preCombineField = 'ts', hoodie.datasource.write.partitionpath.urlencode = 'true');
set hoodie.spark.sql.insert.into.operation = upsert;
insert into ${table} values ('a', 1, 'one', 1.5, 'a b/c'), ('b', 1, null, -0.0D, 'Zürich=1'), ('c', 1, 'three', null, 'rio');
update ${table} set note = 'later', ts = 2 where id = 'a';
delete from ${table} where id = 'c';
insert into ${table} values ('d', 1, 'four', 4.0, 'rio');
