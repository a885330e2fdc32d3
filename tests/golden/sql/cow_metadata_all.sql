-- The metadata table with files, column stats, partition stats, bloom filters and the record index.
set hoodie.metadata.enable = true;
set hoodie.metadata.index.column.stats.enable = true;
set hoodie.metadata.index.partition.stats.enable = true;
set hoodie.metadata.index.bloom.filter.enable = true;
set hoodie.metadata.record.index.enable = true;
set hoodie.metadata.global.record.level.index.enable = true;
set hoodie.metadata.record.index.min.filegroup.count = 1;
set hoodie.metadata.record.index.max.filegroup.count = 1;
set hoodie.metadata.index.column.stats.file.group.count = 1;
set hoodie.metadata.index.bloom.filter.file.group.count = 1;
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
partitioned by (city)
location '${path}'
tblproperties (type = 'cow', primaryKey = 'id', preCombineField = 'ts');
insert into ${table} values ('a', 1, 'one', 1.5, 'sf'), ('b', 1, null, -0.0D, 'rio'), ('c', 1, 'three', null, 'rio');
update ${table} set note = 'later', ts = 2 where id = 'a';
delete from ${table} where id = 'b';
insert into ${table} values ('e', 1, 'new', 5.0, 'oslo');
