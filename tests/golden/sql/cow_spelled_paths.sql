-- Partition values that paths must spell: blanks, slashes, percent signs, other letters, null and empty.
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
partitioned by (city)
location '${path}'
tblproperties (type = 'cow', primaryKey = 'id', preCombineField = 'ts', hoodie.datasource.write.hive_style_partitioning = 'true', hoodie.datasource.write.partitionpath.urlencode = 'true');
insert into ${table} values ('a', 1, 'x', 1.0, 'a b/c:d%'), ('b:1', 1, 'x', 1.0, 'Zürich=1'), ('c,2', 1, 'x', 1.0, null), ('ключ', 1, 'x', 1.0, 'sf');
update ${table} set note = 'later', ts = 2 where id = 'a';
