-- Made by 0.15 at version 6 with logs, then upgraded to version 9 and written on.
-- releases: 1.2.0
-- reads: snapshot read_optimized
-- from: mor_logs-v6
create table mor_logs_v6 using hudi location '${path}';
call upgrade_table(table => 'mor_logs_v6', to_version => 'NINE');
update mor_logs_v6 set note = 'upgraded', ts = 20 where id = 'c';
