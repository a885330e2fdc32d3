-- The payload of PostgreSQL's change log: texts that were not at hand are those of the stored row, and some rows are deletes.
-- reads: snapshot
set hoodie.datasource.write.payload.class = org.apache.hudi.common.model.debezium.PostgresDebeziumAvroPayload;
set hoodie.spark.sql.insert.into.operation = upsert;
create table ${table} (id string, note string, fare double, `_event_lsn` bigint, `_change_operation_type` string) using hudi
location '${path}'
tblproperties (type = 'mor', primaryKey = 'id', preCombineField = '_event_lsn', payloadClass = 'org.apache.hudi.common.model.debezium.PostgresDebeziumAvroPayload');
insert into ${table} values ('a', 'base', 1.5, 5, 'c'), ('b', 'base', 1.5, 5, 'c'), ('c', 'base', 1.5, 5, 'c'), ('d', 'base', 1.5, 5, 'c'), ('e', 'base', 1.5, 5, 'c'), ('f', 'base', 1.5, 5, 'c');
insert into ${table} values ('a', '__debezium_unavailable_value', 2.5, 6, 'u'), ('b', 'first', 2.5, 4, 'u'), ('c', 'first', 2.5, 6, 'd'), ('d', 'first', 2.5, 4, 'd'), ('e', null, null, 7, 'u');
insert into ${table} values ('a', 'second', 3.5, 7, 'u'), ('b', '__debezium_unavailable_value', 3.5, 6, 'u'), ('e', '__debezium_unavailable_value', 3.5, 8, 'u');
