-- The payload of MySQL's change log where version 9 orders by its two columns, file and position.
-- releases: 1.2.0
-- reads: snapshot
set hoodie.datasource.write.payload.class = org.apache.hudi.common.model.debezium.MySqlDebeziumAvroPayload;
set hoodie.spark.sql.insert.into.operation = upsert;
create table ${table} (id string, note string, `_event_bin_file` string, `_event_pos` bigint, `_change_operation_type` string) using hudi
location '${path}'
tblproperties (type = 'mor', primaryKey = 'id', payloadClass = 'org.apache.hudi.common.model.debezium.MySqlDebeziumAvroPayload');
insert into ${table} values ('a', 'base', 'bin.000001', 100, 'c'), ('b', 'base', 'bin.000001', 100, 'c'), ('c', 'base', 'bin.000001', 100, 'c'), ('d', 'base', 'bin.000001', 100, 'c'), ('e', 'base', 'bin.000009', 5, 'c'), ('f', 'base', 'bin.000001', 100, 'c');
insert into ${table} values ('a', 'first', 'bin.000001', 99, 'u'), ('b', 'first', 'bin.000001', 100, 'u'), ('c', 'first', 'bin.000001', 1000, 'u'), ('d', 'first', 'bin.000001', 101, 'd'), ('e', 'first', 'bin.000010', 4, 'u'), ('f', 'first', 'bin.000001', 9, 'd');
insert into ${table} values ('c', 'second', 'bin.000001', 999, 'u'), ('d', 'second', 'bin.000001', 102, 'c'), ('e', 'second', null, 6, 'u');
