-- Restored to a savepoint: two commits gone, then written on.
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
partitioned by (city)
location '${path}'
tblproperties (type = 'cow', primaryKey = 'id', preCombineField = 'ts');
insert into ${table} values ('a', 1, 'one', 1.5, 'sf'), ('b', 1, null, -0.0D, 'rio'), ('c', 1, 'three', null, 'rio');
update ${table} set note = 'later', ts = 2 where id = 'a';
call create_savepoint(table => '${table}', commit_time => '${latest}');
update ${table} set ts = 3 where id = 'a';
insert into ${table} values ('d', 1, 'gone', 4.0, 'oslo');
call rollback_to_savepoint(table => '${table}', instant_time => '${savepoint}');
insert into ${table} values ('f', 1, 'after', 4.0, 'sf');
