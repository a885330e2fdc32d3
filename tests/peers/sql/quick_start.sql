-- The statements of Apache Hudi's quick start for Spark SQL, first without a key and then with one. Of
-- merge-on-read tables Apache Hudi refuses the MERGE INTO, whose new values name the table's own columns.
-- only cow
CREATE TABLE hudi_table (ts BIGINT, uuid STRING, rider STRING, driver STRING, fare DOUBLE, city STRING) USING HUDI PARTITIONED BY (city) TBLPROPERTIES (type = '{type}');
INSERT INTO hudi_table VALUES (1695159649087,'334e26e9-8355-45cc-97c6-c31daf0df330','rider-A','driver-K',19.10,'san_francisco'), (1695091554788,'e96c4396-3fad-413a-a942-4cb36106d721','rider-C','driver-M',27.70 ,'san_francisco'), (1695046462179,'9909a8b1-2d15-4d3d-8ec9-efc48c536a00','rider-D','driver-L',33.90 ,'san_francisco'), (1695332066204,'1dced545-862b-4ceb-8b43-d2a568f6616b','rider-E','driver-O',93.50,'san_francisco'), (1695516137016,'e3cf430c-889d-4015-bc98-59bdce1e530c','rider-F','driver-P',34.15,'sao_paulo'    ), (1695376420000,'7a84095f-737f-40bc-b62f-6b69664712d2','rider-G','driver-Q',43.40 ,'sao_paulo'    ), (1695173887231,'3eeb61f7-c2b0-4636-99bd-5d7a5a1d2c04','rider-I','driver-S',41.06 ,'chennai'      ), (1695115999911,'c8abbe79-8d89-47ea-b4ce-4d224bae5bfa','rider-J','driver-T',17.85,'chennai');
SELECT ts, fare, rider, driver, city FROM hudi_table WHERE fare > 20.0;
UPDATE hudi_table SET fare = 25.0 WHERE rider = 'rider-D';
CREATE TABLE fare_adjustment (ts BIGINT, uuid STRING, rider STRING, driver STRING, fare DOUBLE, city STRING) USING HUDI;
INSERT INTO fare_adjustment VALUES (1695091554788,'e96c4396-3fad-413a-a942-4cb36106d721','rider-C','driver-M',-2.70 ,'san_francisco'), (1695530237068,'3f3d9565-7261-40e6-9b39-b8aa784f95e2','rider-K','driver-U',64.20 ,'san_francisco'), (1695241330902,'ea4c36ff-2069-4148-9927-ef8c1a5abd24','rider-H','driver-R',66.60 ,'sao_paulo'    ), (1695115999911,'c8abbe79-8d89-47ea-b4ce-4d224bae5bfa','rider-J','driver-T',1.85,'chennai'      );
MERGE INTO hudi_table AS target USING fare_adjustment AS source ON target.uuid = source.uuid WHEN MATCHED THEN UPDATE SET target.fare = target.fare + source.fare WHEN NOT MATCHED THEN INSERT *;
DELETE FROM hudi_table WHERE uuid = '3f3d9565-7261-40e6-9b39-b8aa784f95e2';
SELECT uuid, fare, city FROM hudi_table ORDER BY uuid;
SELECT count(*) AS n FROM hudi_table TIMESTAMP AS OF '2999-01-01 10:00:00';
SELECT count(*) AS n FROM hudi_table_changes('hudi_table', 'latest_state', 'earliest');
DROP TABLE hudi_table;
CREATE TABLE hudi_table (ts BIGINT, uuid STRING, rider STRING, driver STRING, fare DOUBLE, city STRING) USING HUDI PARTITIONED BY (city) TBLPROPERTIES (type = '{type}', primaryKey = 'uuid', orderingFields = 'ts');
INSERT INTO hudi_table VALUES (1695159649087,'334e26e9-8355-45cc-97c6-c31daf0df330','rider-A','driver-K',19.10,'san_francisco'), (1695115999911,'c8abbe79-8d89-47ea-b4ce-4d224bae5bfa','rider-J','driver-T',17.85,'chennai');
UPDATE hudi_table SET fare = 25.0 WHERE rider = 'rider-A';
MERGE INTO hudi_table AS target USING (SELECT ts + 1 AS ts, uuid, rider, driver, fare, city FROM fare_adjustment) AS source ON target.uuid = source.uuid WHEN MATCHED THEN UPDATE SET target.fare = target.fare + source.fare, target.ts = source.ts WHEN NOT MATCHED THEN INSERT *;
DELETE FROM hudi_table WHERE uuid = '3f3d9565-7261-40e6-9b39-b8aa784f95e2';
SELECT ts, uuid, rider, driver, fare, city FROM hudi_table ORDER BY uuid;
ALTER TABLE hudi_table SET TBLPROPERTIES ('hoodie.keep.max.commits' = '10', 'hoodie.keep.min.commits' = '6');
CALL show_commits(table => 'hudi_table', limit => 1);
DROP TABLE hudi_table;
DROP TABLE fare_adjustment;
