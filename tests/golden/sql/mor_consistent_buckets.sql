-- Consistent hash buckets, split once by clustering.
-- reads: snapshot
set hoodie.index.type = BUCKET;
set hoodie.index.bucket.engine = CONSISTENT_HASHING;
set hoodie.bucket.index.num.buckets = 2;
set hoodie.bucket.index.min.num.buckets = 1;
set hoodie.bucket.index.max.num.buckets = 4;
set hoodie.bucket.index.split.threshold = 0.000000001;
set hoodie.clustering.plan.strategy.class = org.apache.hudi.client.clustering.plan.strategy.SparkConsistentBucketClusteringPlanStrategy;
set hoodie.clustering.execution.strategy.class = org.apache.hudi.client.clustering.run.strategy.SparkConsistentBucketClusteringExecutionStrategy;
set hoodie.spark.sql.insert.into.operation = upsert;
create table ${table} (id string, ts bigint, note string, fare double, city string) using hudi
partitioned by (city)
location '${path}'
tblproperties (type = 'mor', primaryKey = 'id', preCombineField = 'ts', hoodie.index.type = 'BUCKET', hoodie.index.bucket.engine = 'CONSISTENT_HASHING', hoodie.bucket.index.num.buckets = '2');
insert into ${table} values ('a', 1, 'one', 1.5, 'sf'), ('b', 1, null, -0.0D, 'rio'), ('c', 1, 'three', null, 'rio');
update ${table} set note = 'later', ts = 2 where id = 'a';
call run_compaction(op => 'run', table => '${table}');
call run_clustering(table => '${table}', op => 'scheduleAndExecute');
update ${table} set ts = 5 where id = 'c';
