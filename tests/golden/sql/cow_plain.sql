-- Copy-on-write without partitions: insert, update, delete, insert of a stored key.
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
location '${path}'
tblproperties (type = 'cow', primaryKey = 'id', preCombineField = 'ts');
insert into ${table} values ('a', 1, 'one', 1.5, 'sf'), ('b', 1, null, -0.0D, 'rio'), ('c', 1, 'three', null, 'rio');
update ${table} set note = 'later', ts = 2 where id = 'a';
delete from ${table} where id = 'b';
set hoodie.spark.sql.insert.into.operation = upsert;
insert into ${table} values ('c', 0, 'too old', 9.0, 'rio'), ('c', 3, 'newest', 3.0, 'rio'), ('d', 1, 'fresh', 4.0, 'sf');
