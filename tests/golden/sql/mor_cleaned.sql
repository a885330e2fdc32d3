-- Compacted and cleaned again and again, then archived.
-- reads: snapshot read_optimized
set hoodie.compact.inline = true;
set hoodie.compact.inline.max.delta.commits = 2;
set hoodie.keep.min.commits = 2;
set hoodie.keep.max.commits = 3;
set hoodie.cleaner.commits.retained = 1;
set hoodie.clean.commits.retained = 1;
set hoodie.commits.archival.batch = 1;
set hoodie.timeline.compaction.batch.size = 3;
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
partitioned by (city)
location '${path}'
tblproperties (type = 'mor', primaryKey = 'id', preCombineField = 'ts');
insert into ${table} values ('a', 1, 'one', 1.5, 'sf'), ('b', 1, null, -0.0D, 'rio'), ('c', 1, 'three', null, 'rio');
update ${table} set note = 'later', ts = 2 where id = 'a';
update ${table} set ts = 3 where id = 'a';
update ${table} set ts = 4 where id = 'a';
update ${table} set ts = 5 where id = 'a';
update ${table} set ts = 6 where id = 'a';
update ${table} set ts = 7 where id = 'a';
update ${table} set ts = 8 where id = 'a';
