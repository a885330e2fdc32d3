-- The payload that keeps the first of rows with equal ordering values, in a log and beside the stored row.
-- releases: 1.0.2 0.15.0
-- reads: snapshot
set hoodie.datasource.write.payload.class = org.apache.hudi.common.model.FirstValueAvroPayload;
set hoodie.spark.sql.insert.into.operation = upsert;
create table ${table} (id string, ts bigint, note string) using hudi
location '${path}'
tblproperties (type = 'mor', primaryKey = 'id', preCombineField = 'ts', payloadClass = 'org.apache.hudi.common.model.FirstValueAvroPayload');
insert into ${table} values ('a', 5, 'base'), ('b', 5, 'base'), ('c', 5, 'base'), ('d', 5, 'base'), ('e', 5, 'base'), ('f', 5, 'base');
insert into ${table} values ('a', 5, 'first'), ('b', 6, 'first'), ('c', 4, 'first'), ('d', 7, 'first'), ('e', 5, 'first');
insert into ${table} values ('a', 5, 'second'), ('b', 6, 'second'), ('c', 5, 'second'), ('d', 6, 'second'), ('e', 8, 'second');
