-- Partitioned by the day of a time in milliseconds.
-- releases: 1.2.0 1.0.2
create table ${table} (id string, ts bigint, note string, at bigint) using hudi
partitioned by (at)
location '${path}'
tblproperties (type = 'cow', primaryKey = 'id', preCombineField = 'ts', hoodie.table.keygenerator.class = 'org.apache.hudi.keygen.TimestampBasedKeyGenerator', hoodie.keygen.timebased.timestamp.type = 'EPOCHMILLISECONDS', hoodie.keygen.timebased.output.dateformat = 'yyyy/MM/dd', hoodie.keygen.timebased.timezone = 'UTC');
insert into ${table} values ('a', 1, 'x', 1700000000000), ('b', 1, 'y', 1700086400000);
set hoodie.spark.sql.insert.into.operation = upsert;
insert into ${table} values ('a', 2, 'later', 1700000000000);
