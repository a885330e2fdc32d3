-- Logs with record positions, of rows and of deletes.
-- releases: 1.2.0 1.0.2
-- reads: snapshot read_optimized
set hoodie.write.record.positions = true;
set hoodie.spark.sql.merge.into.partial.updates = false;
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
partitioned by (city)
location '${path}'
tblproperties (type = 'mor', primaryKey = 'id', preCombineField = 'ts');
insert into ${table} values ('a', 1, 'one', 1.5, 'sf'), ('b', 1, null, -0.0D, 'rio'), ('c', 1, 'three', null, 'rio'),
('d', 1, 'four', 4.5, 'rio'), ('e', 1, 'five', 5.5, 'rio'), ('f', 1, 'six', 6.5, 'rio');
merge into ${table} t using (select 'f' as id, 2L as ts, 'last' as note, 7.5D as fare, 'rio' as city
union all select 'b', 2L, 'first', 8.5D, 'rio' union all select 'd', 2L, 'middle', 9.5D, 'rio') s on t.id = s.id
when matched then update set *;
merge into ${table} t using (select 'e' as id, 3L as ts, 'rio' as city union all select 'c', 3L, 'rio') s on t.id = s.id
when matched then delete;
