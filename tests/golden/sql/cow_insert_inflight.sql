-- A first commit that crashed: no rows yet.
-- reads: snapshot
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
partitioned by (city)
location '${path}'
tblproperties (type = 'cow', primaryKey = 'id', preCombineField = 'ts');
set hoodie.precommit.validators = org.apache.hudi.client.validator.SqlQuerySingleResultPreCommitValidator;
set hoodie.precommit.validators.single.value.sql.queries = select count(*) from <TABLE_NAME>#-1;
--! fails
insert into ${table} values ('a', 1, 'one', 1.5, 'sf'), ('b', 1, null, -0.0D, 'rio'), ('c', 1, 'three', null, 'rio');
