-- Change log, op key only, merge-on-read.
-- reads: snapshot incremental cdc
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
partitioned by (city)
location '${path}'
tblproperties (type = 'mor', primaryKey = 'id', preCombineField = 'ts', hoodie.table.cdc.enabled = 'true', hoodie.table.cdc.supplemental.logging.mode = 'op_key_only');
insert into ${table} values ('a', 1, 'one', 1.5, 'sf'), ('b', 1, null, -0.0D, 'rio'), ('c', 1, 'three', null, 'rio');
update ${table} set note = 'later', ts = 2 where id = 'a';
delete from ${table} where id = 'b';
