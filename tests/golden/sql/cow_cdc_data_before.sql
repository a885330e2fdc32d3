-- Change log, data before.
-- reads: snapshot incremental cdc
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
partitioned by (city)
location '${path}'
tblproperties (type = 'cow', primaryKey = 'id', preCombineField = 'ts', hoodie.table.cdc.enabled = 'true', hoodie.table.cdc.supplemental.logging.mode = 'data_before');
insert into ${table} values ('a', 1, 'one', 1.5, 'sf'), ('b', 1, null, -0.0D, 'rio'), ('c', 1, 'three', null, 'rio');
update ${table} set note = 'later', ts = 2 where id = 'a';
delete from ${table} where id = 'b';
insert overwrite table ${table} partition (city = 'rio') values ('e', 1, 'over', 5.0);
