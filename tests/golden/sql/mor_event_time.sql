-- The payload by event time whose deletes do not look at the stored row's time.
-- reads: snapshot
set hoodie.datasource.write.payload.class = org.apache.hudi.common.model.EventTimeAvroPayload;
set hoodie.spark.sql.insert.into.operation = upsert;
create table ${table} (id string, ts bigint, note string, _hoodie_is_deleted boolean) using hudi
location '${path}'
tblproperties (type = 'mor', primaryKey = 'id', preCombineField = 'ts', payloadClass = 'org.apache.hudi.common.model.EventTimeAvroPayload');
insert into ${table} values ('a', 5, 'base', false), ('b', 5, 'base', false), ('c', 5, 'base', false), ('d', 5, 'base', false), ('e', 5, 'base', false), ('f', 5, 'base', false), ('g', 5, 'base', false);
insert into ${table} values ('a', 5, 'tie', false), ('b', 4, 'late', false), ('c', 4, 'late delete', true), ('d', 6, 'delete', true), ('e', 7, 'new', false), ('f', 5, 'delete at a tie', true);
insert into ${table} values ('d', 5, 'behind the delete', false), ('e', 6, 'late delete in a log', true), ('c', 3, 'behind', false), ('g', 9, 'newest', false);
