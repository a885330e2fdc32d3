-- A commit that crashed before it was published: files, markers and all.
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
partitioned by (city)
location '${path}'
tblproperties (type = 'cow', primaryKey = 'id', preCombineField = 'ts');
insert into ${table} values ('a', 1, 'one', 1.5, 'sf'), ('b', 1, null, -0.0D, 'rio'), ('c', 1, 'three', null, 'rio');
update ${table} set note = 'later', ts = 2 where id = 'a';
set hoodie.precommit.validators = org.apache.hudi.client.validator.SqlQuerySingleResultPreCommitValidator;
set hoodie.precommit.validators.single.value.sql.queries = select count(*) from <TABLE_NAME>#-1;
--! fails
update ${table} set note = 'never', ts = 3 where id = 'a';
