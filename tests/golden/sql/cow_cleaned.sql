-- Cleaned after every commit.
-- reads: snapshot
set hoodie.clean.automatic = true;
set hoodie.cleaner.commits.retained = 1;
set hoodie.clean.commits.retained = 1;
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
partitioned by (city)
location '${path}'
tblproperties (type = 'cow', primaryKey = 'id', preCombineField = 'ts');
insert into ${table} values ('a', 1, 'one', 1.5, 'sf'), ('b', 1, null, -0.0D, 'rio'), ('c', 1, 'three', null, 'rio');
update ${table} set note = 'later', ts = 2 where id = 'a';
update ${table} set ts = 3 where id = 'a';
update ${table} set ts = 4 where id = 'a';
insert overwrite table ${table} partition (city = 'rio') values ('e', 1, 'over', 5.0);
update ${table} set ts = 5 where id = 'a';
update ${table} set ts = 6 where id = 'a';
