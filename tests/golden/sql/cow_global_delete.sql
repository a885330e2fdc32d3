-- Keys with their field's name, and no partitions: the key generator for deletes by a global index.
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
location '${path}'
tblproperties (type = 'cow', primaryKey = 'id', preCombineField = 'ts', hoodie.table.keygenerator.class = 'org.apache.hudi.keygen.GlobalDeleteKeyGenerator');
set hoodie.spark.sql.insert.into.operation = upsert;
insert into ${table} values ('a', 1, 'one', 1.5, 'sf'), ('b', 1, null, -0.0D, 'rio'), ('c', 1, 'three', null, 'rio');
update ${table} set note = 'later', ts = 2 where id = 'a';
delete from ${table} where id = 'b';
