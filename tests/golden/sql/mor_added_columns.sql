-- A column added between base file and log.
-- reads: snapshot read_optimized
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
partitioned by (city)
location '${path}'
tblproperties (type = 'mor', primaryKey = 'id', preCombineField = 'ts');
insert into ${table} values ('a', 1, 'one', 1.5, 'sf'), ('b', 1, null, -0.0D, 'rio'), ('c', 1, 'three', null, 'rio');
alter table ${table} add columns (tags array<string>);
update ${table} set tags = array('t'), ts = 2 where id = 'a';
