-- The payload of MySQL's change log: rows are ordered by file and position, compared as numbers, and some are deletes.
-- releases: 1.0.2 0.15.0
-- reads: snapshot
set hoodie.datasource.write.payload.class = org.apache.hudi.common.model.debezium.MySqlDebeziumAvroPayload;
set hoodie.spark.sql.insert.into.operation = upsert;
create table ${table} (id string, note string, `_event_seq` string, `_change_operation_type` string) using hudi
location '${path}'
tblproperties (type = 'mor', primaryKey = 'id', preCombineField = '_event_seq', payloadClass = 'org.apache.hudi.common.model.debezium.MySqlDebeziumAvroPayload');
insert into ${table} values ('a', 'base', '00001.100', 'c'), ('b', 'base', '00001.100', 'c'), ('c', 'base', '00001.100', 'c'), ('d', 'base', '00001.100', 'c'), ('e', 'base', '00009.5', 'c'), ('f', 'base', '00001.100', 'c'), ('g', 'base', '00001.100', 'c'), ('h', 'base', '00001.100', 'c');
insert into ${table} values ('a', 'first', '00001.99', 'u'), ('b', 'first', '00001.100', 'u'), ('c', 'first', '00001.1000', 'u'), ('d', 'first', '00001.101', 'd'), ('e', 'first', '00010.4', 'u'), ('f', 'first', '00001.09', 'd'), ('g', 'first', '00001.1000', 'u'), ('h', 'first', '00001.200', 'u');
insert into ${table} values ('g', 'second', '00001.999', 'u'), ('h', 'second', '00001.200', 'u');
