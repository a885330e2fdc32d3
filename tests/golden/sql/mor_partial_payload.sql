-- The payload that keeps stored values where new ones are null.
-- reads: snapshot
set hoodie.datasource.write.payload.class = org.apache.hudi.common.model.PartialUpdateAvroPayload;
set hoodie.spark.sql.insert.into.operation = upsert;
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
partitioned by (city)
location '${path}'
tblproperties (type = 'mor', primaryKey = 'id', preCombineField = 'ts', payloadClass = 'org.apache.hudi.common.model.PartialUpdateAvroPayload');
insert into ${table} values ('a', 1, 'one', 1.5, 'sf'), ('b', 1, null, -0.0D, 'rio'), ('c', 1, 'three', null, 'rio');
insert into ${table} values ('a', 2, null, 7.5, 'sf'), ('b', 2, 'filled', null, 'rio');
