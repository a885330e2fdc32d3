-- Custom keys: one partition column as it is, one as a day.
-- releases: 1.2.0 1.0.2
create table ${table} (id string, ts bigint, note string, city string, at bigint) using hudi
partitioned by (city, at)
location '${path}'
tblproperties (type = 'cow', primaryKey = 'id', preCombineField = 'ts', hoodie.table.keygenerator.class = 'org.apache.hudi.keygen.CustomKeyGenerator', hoodie.datasource.write.partitionpath.field = 'city:simple,at:timestamp', hoodie.keygen.timebased.timestamp.type = 'EPOCHMILLISECONDS', hoodie.keygen.timebased.output.dateformat = 'yyyyMMdd', hoodie.keygen.timebased.timezone = 'UTC');
set hoodie.datasource.write.partitionpath.field = city:simple,at:timestamp;
insert into ${table} values ('a', 1, 'x', 'sf', 1700000000000), ('b', 1, 'y', 'rio', 1700086400000);
insert into ${table} values ('c', 1, 'z', 'sf', 1700086400000);
