-- One key field and two partition columns: keys with or without their field's name, by release.
create table ${table} (id string, ts bigint, note string, city string, day string) using hudi
partitioned by (city, day)
location '${path}'
tblproperties (type = 'cow', primaryKey = 'id', preCombineField = 'ts');
insert into ${table} values ('a', 1, 'x', 'sf', '2024-01-01'), ('b', 1, 'z', 'rio', '2024-01-02');
update ${table} set note = 'later', ts = 2 where id = 'a';
