-- Cleaned by file versions, which names no commit to retain; clustered inline, and archived.
-- reads: snapshot then
set hoodie.keep.min.commits = 3;
set hoodie.keep.max.commits = 5;
set hoodie.commits.archival.batch = 1;
set hoodie.timeline.compaction.batch.size = 3;
set hoodie.cleaner.policy = KEEP_LATEST_FILE_VERSIONS;
set hoodie.clean.policy = KEEP_LATEST_FILE_VERSIONS;
set hoodie.cleaner.fileversions.retained = 1;
set hoodie.clean.fileversions.retained = 1;
set hoodie.clustering.inline = true;
set hoodie.clustering.inline.max.commits = 4;
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
partitioned by (city)
location '${path}'
tblproperties (type = 'cow', primaryKey = 'id', preCombineField = 'ts');
insert into ${table} values ('a', 1, 'one', 1.5, 'sf'), ('b', 1, null, -0.0D, 'rio'), ('c', 1, 'three', null, 'oslo');
update ${table} set note = 'later', ts = 2 where id = 'a';
insert into ${table} values ('d', 1, 'four', 4.0, 'rio');
update ${table} set ts = 3 where id = 'a';
delete from ${table} where id = 'b';
update ${table} set ts = 4 where id = 'a';
insert overwrite table ${table} partition (city = 'oslo') values ('e', 1, 'over', 5.0);
update ${table} set ts = 5 where id = 'a';
update ${table} set ts = 2 where id = 'e';
update ${table} set ts = 2 where id = 'd';
