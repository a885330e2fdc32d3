-- The payload of a database migration service: the later row counts, and a column says that a row is a delete.
-- reads: snapshot
set hoodie.datasource.write.payload.class = org.apache.hudi.common.model.AWSDmsAvroPayload;
set hoodie.spark.sql.insert.into.operation = upsert;
create table ${table} (id string, ts bigint, note string, `Op` string) using hudi
location '${path}'
tblproperties (type = 'mor', primaryKey = 'id', preCombineField = 'ts', payloadClass = 'org.apache.hudi.common.model.AWSDmsAvroPayload');
insert into ${table} values ('a', 5, 'base', 'I'), ('b', 5, 'base', 'I'), ('c', 5, 'base', 'I'), ('d', 5, 'base', 'I'), ('e', 5, 'base', 'I'), ('f', 5, 'base', 'I'), ('g', 5, 'base', 'D'), ('h', 5, 'base', 'I');
insert into ${table} values ('a', 7, 'first', 'U'), ('b', 6, 'first', 'D'), ('c', 4, 'first', 'U'), ('d', 4, 'first', 'D'), ('e', 6, 'first', 'D'), ('h', 6, 'first', null);
insert into ${table} values ('a', 8, 'second', 'U'), ('c', 5, 'second', 'U'), ('e', 7, 'second', 'I');
