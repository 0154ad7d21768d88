// Use Google's libraries for Java as their users do: no address, no certificate and no proxy is set here.

import com.google.api.gax.rpc.NotFoundException;
import com.google.api.gax.rpc.UnimplementedException;
import com.google.auth.oauth2.AccessToken;
import com.google.auth.oauth2.GoogleCredentials;
import com.google.cloud.WriteChannel;
import com.google.cloud.aiplatform.v1.ContainerSpec;
import com.google.cloud.aiplatform.v1.CustomJob;
import com.google.cloud.aiplatform.v1.CustomJobSpec;
import com.google.cloud.aiplatform.v1.JobServiceClient;
import com.google.cloud.aiplatform.v1.JobServiceSettings;
import com.google.cloud.aiplatform.v1.MachineSpec;
import com.google.cloud.aiplatform.v1.NasJob;
import com.google.cloud.aiplatform.v1.WorkerPoolSpec;
import com.google.cloud.storage.Blob;
import com.google.cloud.storage.BlobInfo;
import com.google.cloud.storage.Bucket;
import com.google.cloud.storage.BucketInfo;
import com.google.cloud.storage.NotificationInfo;
import com.google.cloud.storage.Storage;
import com.google.cloud.storage.StorageBatch;
import com.google.cloud.storage.StorageBatchResult;
import com.google.cloud.storage.StorageException;
import com.google.cloud.storage.StorageOptions;
import com.google.gson.Gson;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;

public final class Main {
  private static final String PLACE = "projects/local/locations/us-central1";
  private static final Map<String, Object> results = new LinkedHashMap<>();

  public static void main(String[] arguments) throws Exception {
    if (arguments.length > 0 && arguments[0].equals("trusts")) {
      trusts(Integer.parseInt(arguments[1]), List.of(arguments).subList(2, arguments.length));
    } else {
      AccessToken token = new AccessToken(System.getenv("VERTEX_EMULATOR_TOKEN"), null);
      GoogleCredentials credentials = GoogleCredentials.create(token);
      objects(credentials);
      jobs(credentials);
    }
    System.out.println(new Gson().toJson(results));
  }

  private static void objects(GoogleCredentials credentials) throws Exception {
    Storage storage =
        StorageOptions.newBuilder().setProjectId("local").setCredentials(credentials).build().getService();
    Bucket bucket = storage.create(BucketInfo.of("from-java"));
    byte[] text = "hello from java".getBytes(StandardCharsets.UTF_8);
    bucket.create("a/b.txt", text, "text/plain");
    results.put("read", new String(storage.readAllBytes("from-java", "a/b.txt"), StandardCharsets.UTF_8));
    // Sent in nine requests of a resumable upload.
    try (WriteChannel channel = storage.writer(BlobInfo.newBuilder("from-java", "big").build())) {
      channel.setChunkSize(1 << 20);
      channel.write(ByteBuffer.wrap(new byte[9_000_000]));
    }
    results.put("size", storage.get("from-java", "big").getSize());
    Blob changed =
        bucket.get("a/b.txt").toBuilder().setMetadata(Map.of("step", "3")).build().update();
    results.put("metadata", changed.getMetadata());
    changed.copyTo("from-java", "copy").getResult();
    StorageBatch batch = storage.batch();
    StorageBatchResult<Blob> updated = batch.update(changed.toBuilder().setContentType("text/x").build());
    StorageBatchResult<Boolean> gone = batch.delete("from-java", "none");
    batch.submit();
    results.put("batch", List.of(updated.get().getContentType(), gone.get()));
    List<String> names = new ArrayList<>();
    for (Blob each : bucket.list().iterateAll()) {
      names.add(each.getName());
    }
    results.put("names", names);
    results.put("deleted", List.of(storage.delete("from-java", "copy"), storage.delete("from-java", "copy")));
    try {
      bucket.create("a/b.txt", text, Bucket.BlobTargetOption.doesNotExist());
    } catch (StorageException error) {
      results.put("taken", error.getCode());
    }
    try {
      storage.createNotification("from-java", NotificationInfo.newBuilder("projects/p/topics/t").build());
    } catch (StorageException error) {
      results.put("refused", List.of(error.getCode(), error.getMessage()));
    }
  }

  private static void jobs(GoogleCredentials credentials) throws Exception {
    JobServiceSettings settings =
        JobServiceSettings.newBuilder()
            .setEndpoint("us-central1-aiplatform.googleapis.com:443")
            .setCredentialsProvider(() -> credentials)
            .build();
    try (JobServiceClient client = JobServiceClient.create(settings)) {
      WorkerPoolSpec pool =
          WorkerPoolSpec.newBuilder()
              .setMachineSpec(MachineSpec.newBuilder().setMachineType("n1-standard-4"))
              .setReplicaCount(1)
              .setContainerSpec(ContainerSpec.newBuilder().setImageUri("python:3.11").addCommand("true"))
              .build();
      CustomJob job =
          CustomJob.newBuilder()
              .setDisplayName("from-java")
              .setJobSpec(CustomJobSpec.newBuilder().addWorkerPoolSpecs(pool))
              .build();
      CustomJob created = client.createCustomJob(PLACE, job);
      List<String> listed = new ArrayList<>();
      for (CustomJob each : client.listCustomJobs(PLACE).iterateAll()) {
        listed.add(each.getDisplayName());
      }
      results.put("jobs", listed);
      results.put("same", client.getCustomJob(created.getName()).getName().equals(created.getName()));
      try {
        client.getCustomJob(PLACE + "/customJobs/1");
      } catch (NotFoundException error) {
        results.put("missing", error.getStatusCode().getCode().toString());
      }
      try {
        client.createNasJob(PLACE, NasJob.getDefaultInstance());
      } catch (UnimplementedException error) {
        results.put("unsupported", error.getMessage());
      }
    }
  }

  /** For each name, shake hands with a local port, as if it were the host of that name. */
  private static void trusts(int port, List<String> names) {
    SSLSocketFactory factory = (SSLSocketFactory) SSLSocketFactory.getDefault();
    for (String name : names) {
      try (Socket plain = new Socket("127.0.0.1", port);
          SSLSocket secured = (SSLSocket) factory.createSocket(plain, name, port, true)) {
        SSLParameters parameters = secured.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        secured.setSSLParameters(parameters);
        secured.startHandshake();
        results.put(name, "trusted");
      } catch (IOException error) {
        Throwable cause = error;
        while (cause.getCause() != null) {
          cause = cause.getCause();
        }
        results.put(name, cause.getMessage());
      }
    }
  }
}
