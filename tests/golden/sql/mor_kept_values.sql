-- The payload by which the later row counts and stored values are kept where new ones are null.
-- reads: snapshot
set hoodie.datasource.write.payload.class = org.apache.hudi.common.model.OverwriteNonDefaultsWithLatestAvroPayload;
set hoodie.spark.sql.insert.into.operation = upsert;
create table ${table} (id string, ts bigint, note string, fare double) using hudi
location '${path}'
tblproperties (type = 'mor', primaryKey = 'id', preCombineField = 'ts', payloadClass = 'org.apache.hudi.common.model.OverwriteNonDefaultsWithLatestAvroPayload');
insert into ${table} values ('a', 1, 'one', 1.5), ('b', 1, null, -0.0D), ('c', 5, 'three', null), ('d', 1, null, null);
insert into ${table} values ('a', 4, null, 7.5), ('b', 2, 'filled', null), ('c', 3, 'older', 3.5), ('d', 3, 'kept', null);
insert into ${table} values ('a', 5, 'middle', null), ('c', 4, 'older too', null), ('d', 4, null, 9.5);
