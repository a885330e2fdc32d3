-- An update with an older ordering value, a delete of a newer row, a key that comes back.
-- reads: snapshot read_optimized as_of incremental
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
location '${path}'
tblproperties (type = 'mor', primaryKey = 'id', preCombineField = 'ts');
set hoodie.spark.sql.insert.into.operation = upsert;
insert into ${table} values ('a', 5, 'five', 1.0, 'sf'), ('b', 5, 'five', 1.0, 'rio'), ('c', 5, 'five', 1.0, 'rio');
insert into ${table} values ('a', 3, 'too old', 1.0, 'sf'), ('b', 5, 'same', 2.0, 'rio'), ('c', 7, 'newer', 2.0, 'rio');
delete from ${table} where id = 'c';
insert into ${table} values ('c', 1, 'back, though old', 3.0, 'rio');
