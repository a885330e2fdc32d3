-- Two key fields and two partition columns.
create table ${table} (id string, line int, ts bigint, note string, city string, day string) using hudi
partitioned by (city, day)
location '${path}'
tblproperties (type = 'cow', primaryKey = 'id,line', preCombineField = 'ts');
insert into ${table} values ('a', 1, 1, 'x', 'sf', '2024-01-01'), ('a', 2, 1, 'y', 'sf', '2024-01-01'), ('b', 1, 1, 'z', 'rio', '2024-01-02');
update ${table} set note = 'later', ts = 2 where id = 'a' and line = 2;
delete from ${table} where id = 'b';
