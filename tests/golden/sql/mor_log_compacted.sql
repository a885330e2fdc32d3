-- A log compaction: blocks of several logs made one.
-- reads: snapshot read_optimized
set hoodie.log.compaction.enable = true;
set hoodie.log.compaction.inline = true;
set hoodie.log.compaction.blocks.threshold = 1;
set hoodie.log.record.reader.use.scanV2 = true;
set hoodie.optimized.log.blocks.scan.enable = true;
set hoodie.compact.inline.max.delta.commits = 100;
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
partitioned by (city)
location '${path}'
tblproperties (type = 'mor', primaryKey = 'id', preCombineField = 'ts');
insert into ${table} values ('a', 1, 'one', 1.5, 'sf'), ('b', 1, null, -0.0D, 'rio'), ('c', 1, 'three', null, 'rio');
update ${table} set note = 'later', ts = 2 where id = 'a';
update ${table} set note = 'again', ts = 3 where id = 'a';
update ${table} set note = 'more', ts = 4 where id = 'a';
delete from ${table} where id = 'b';
