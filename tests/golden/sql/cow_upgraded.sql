-- Made and archived by 0.15 at version 6, then upgraded to version 9 and written on.
-- releases: 1.2.0
-- reads: snapshot
-- from: cow_archived-v6
create table cow_archived_v6 using hudi location '${path}';
call upgrade_table(table => 'cow_archived_v6', to_version => 'NINE');
update cow_archived_v6 set note = 'upgraded', ts = 20 where id = 'a';
