-- A compaction that crashed before it was published; the next writer went on.
-- reads: snapshot read_optimized
set hoodie.compact.inline.max.delta.commits = 1;
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
partitioned by (city)
location '${path}'
tblproperties (type = 'mor', primaryKey = 'id', preCombineField = 'ts');
insert into ${table} values ('a', 1, 'one', 1.5, 'sf'), ('b', 1, null, -0.0D, 'rio'), ('c', 1, 'three', null, 'rio');
update ${table} set note = 'later', ts = 2 where id = 'a';
call run_compaction(op => 'schedule', table => '${table}');
call run_compaction(op => 'run', table => '${table}');
--! cut commit
