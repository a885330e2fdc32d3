// Apache Hudi's own writer of HFiles, since 1.1; orders as those that HBase takes.

import java.io.FileOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hudi.io.compress.CompressionCodec;
import org.apache.hudi.io.hfile.HFileContext;
import org.apache.hudi.io.hfile.HFileWriterImpl;

public class NativeWriter {
  public static void main(String[] arguments) throws Exception {
    for (String order : Files.readAllLines(Path.of(arguments[0]))) {
      String[] words = order.split(" ");
      HFileContext context = HFileContext.builder()
          .compressionCodec(words[2].equals("GZ") ? CompressionCodec.GZIP : CompressionCodec.NONE)
          .blockSize(Integer.parseInt(words[4]))
          .build();
      HFileWriterImpl writer = new HFileWriterImpl(context, new FileOutputStream(words[1]));
      for (int number = 0; number < Integer.parseInt(words[6]); number++) {
        writer.append(String.format("key%06d", number), "v".repeat(number % 7).getBytes(StandardCharsets.UTF_8));
      }
      writer.appendFileInfo("schema", "{}".getBytes(StandardCharsets.UTF_8));
      writer.appendMetaInfo("bloomFilter", "bits".getBytes(StandardCharsets.UTF_8));
      writer.close();
      System.out.println("done");
    }
  }
}
