package org.apache.hudi.aws.transaction.lock;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Properties;
import org.apache.hudi.client.transaction.lock.StorageLockClient;
import org.apache.hudi.client.transaction.lock.models.LockGetResult;
import org.apache.hudi.client.transaction.lock.models.LockUpsertResult;
import org.apache.hudi.client.transaction.lock.models.StorageLockData;
import org.apache.hudi.client.transaction.lock.models.StorageLockFile;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.common.util.collection.Pair;

/**
 * Stands in for the class of this name in hudi-aws-bundle where the registry does not have that bundle.
 *
 * It only carries requests to an emulator that checks no signatures. When to claim, renew and give up the lock is
 * decided by Apache Hudi's own StorageBasedLockProvider, which loads it.
 */
public class S3StorageLockClient implements StorageLockClient {

  private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final String lockFile;

  public S3StorageLockClient(String owner, String lockFile, Properties settings) {
    this.lockFile = lockFile;
  }

  @Override
  public Pair<LockGetResult, Option<StorageLockFile>> readCurrentLockFile() {
    HttpResponse<byte[]> answer = send(request(lockFile).GET());
    if (answer.statusCode() == 404) {
      return Pair.of(LockGetResult.NOT_EXISTS, Option.empty());
    }
    if (answer.statusCode() != 200) {
      return Pair.of(LockGetResult.UNKNOWN_ERROR, Option.empty());
    }
    StorageLockFile found = StorageLockFile.createFromStream(new ByteArrayInputStream(answer.body()), tagOf(answer));
    return Pair.of(LockGetResult.SUCCESS, Option.of(found));
  }

  @Override
  public Pair<LockUpsertResult, Option<StorageLockFile>> tryUpsertLockFile(
      StorageLockData data, Option<StorageLockFile> previous) {
    HttpRequest.Builder put = request(lockFile).PUT(BodyPublishers.ofByteArray(StorageLockFile.toByteArray(data)));
    if (previous.isPresent()) {
      put.header("If-Match", previous.get().getVersionId());
    } else {
      put.header("If-None-Match", "*");
    }
    HttpResponse<byte[]> answer = send(put);
    if (answer.statusCode() == 200) {
      return Pair.of(LockUpsertResult.SUCCESS, Option.of(new StorageLockFile(data, tagOf(answer))));
    }
    boolean isTaken = answer.statusCode() == 412;
    return Pair.of(isTaken ? LockUpsertResult.ACQUIRED_BY_OTHERS : LockUpsertResult.UNKNOWN_ERROR, Option.empty());
  }

  @Override
  public Option<String> readObject(String path, boolean checkExistsFirst) {
    HttpResponse<byte[]> answer = send(request(path).GET());
    return answer.statusCode() == 200 ? Option.of(new String(answer.body())) : Option.empty();
  }

  @Override
  public boolean writeObject(String path, String text) {
    return send(request(path).PUT(BodyPublishers.ofString(text))).statusCode() == 200;
  }

  @Override
  public void close() {
  }

  private static HttpRequest.Builder request(String path) {
    Pair<String, String> place = StorageLockClient.parseBucketAndPath(path);
    String address = System.getProperty("pyhudi.s3.endpoint") + "/" + place.getLeft() + "/" + place.getRight();
    return HttpRequest.newBuilder(URI.create(address))
        .header("Authorization", "AWS4-HMAC-SHA256 Credential=dummy/20260101/us-east-1/s3/aws4_request, "
            + "SignedHeaders=host, Signature=0");
  }

  private static String tagOf(HttpResponse<byte[]> answer) {
    return answer.headers().firstValue("ETag").orElseThrow();
  }

  private HttpResponse<byte[]> send(HttpRequest.Builder request) {
    try {
      return http.send(request.build(), BodyHandlers.ofByteArray());
    } catch (IOException error) {
      throw new java.io.UncheckedIOException(error);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(error);
    }
  }
}
