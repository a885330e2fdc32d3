// HBase's reader and writer of HFiles, which Apache Hudi 0.15 uses: says what it finds, as NativeReader.

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.HexFormat;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Text;
import org.apache.hudi.org.apache.hadoop.hbase.Cell;
import org.apache.hudi.org.apache.hadoop.hbase.CellUtil;
import org.apache.hudi.org.apache.hadoop.hbase.KeyValue;
import org.apache.hudi.org.apache.hadoop.hbase.io.compress.Compression;
import org.apache.hudi.org.apache.hadoop.hbase.io.hfile.CacheConfig;
import org.apache.hudi.org.apache.hadoop.hbase.io.hfile.HFile;
import org.apache.hudi.org.apache.hadoop.hbase.io.hfile.HFileBlock;
import org.apache.hudi.org.apache.hadoop.hbase.io.hfile.HFileContext;
import org.apache.hudi.org.apache.hadoop.hbase.io.hfile.HFileContextBuilder;
import org.apache.hudi.org.apache.hadoop.hbase.io.hfile.HFileScanner;
import org.apache.hudi.org.apache.hadoop.hbase.nio.ByteBuff;
import org.apache.hudi.org.apache.hadoop.hbase.util.ChecksumType;

public class HBase {
  private static final HexFormat HEX = HexFormat.of();

  public static void main(String[] arguments) throws Exception {
    Configuration configuration = new Configuration();
    FileSystem files = FileSystem.getLocal(configuration).getRaw();
    for (String order : Files.readAllLines(java.nio.file.Path.of(arguments[0]))) {
      String[] words = order.split(" ");
      Path path = new Path(words[1]);
      if (words[0].equals("write")) {
        write(files, path, Arrays.copyOfRange(words, 2, words.length));
        System.out.println("done");
        continue;
      }
      try (HFile.Reader reader = HFile.createReader(files, path, new CacheConfig(configuration), true, configuration)) {
        answer(words[0], reader, Arrays.copyOfRange(words, 2, words.length));
      } catch (Throwable error) {
        System.out.println("error " + error);
      }
      System.out.println("done");
    }
  }

  private static void answer(String what, HFile.Reader reader, String[] given) throws Exception {
    HFileScanner scanner = reader.getScanner(false, true);
    switch (what) {
      case "count" -> System.out.println(reader.getEntries());
      case "all" -> {
        for (boolean more = scanner.seekTo(); more; more = scanner.next()) {
          say(scanner.getCell());
        }
      }
      case "keys" -> {
        for (String key : given) {
          if (scanner.seekTo(sought(HEX.parseHex(key))) == 0) {
            say(scanner.getCell());
          }
        }
      }
      case "prefix" -> prefix(scanner, HEX.parseHex(given[0]));
      case "meta" -> {
        HFileBlock block = reader.getMetaBlock(given[0], false);
        if (block != null) {
          ByteBuff content = block.getBufferWithoutHeader();
          byte[] bytes = new byte[content.remaining()];
          content.get(bytes);
          System.out.println(new String(bytes, StandardCharsets.UTF_8));
        }
      }
      case "info" -> System.out.println(
          new String(reader.getHFileInfo().get(given[0].getBytes(StandardCharsets.UTF_8)), StandardCharsets.UTF_8));
      default -> throw new IllegalArgumentException(what);
    }
  }

  /** Writes so many entries; given are codec, checksum, bytes of a block and of an index block, entries. */
  private static void write(FileSystem files, Path path, String[] given) throws Exception {
    Configuration configuration = new Configuration();
    configuration.setInt("hfile.index.block.max.size", Integer.parseInt(given[3]));
    configuration.setInt("hfile.index.block.min.entries", 2);
    HFileContext context = new HFileContextBuilder()
        .withCompression(Compression.Algorithm.valueOf(given[0]))
        .withChecksumType(ChecksumType.valueOf(given[1]))
        .withBlockSize(Integer.parseInt(given[2]))
        .build();
    try (HFile.Writer writer = HFile.getWriterFactory(configuration, new CacheConfig(configuration))
        .withPath(files, path).withFileContext(context).create()) {
      for (int number = 0; number < Integer.parseInt(given[4]); number++) {
        byte[] value = "v".repeat(number % 7).getBytes(StandardCharsets.UTF_8);
        writer.append(new KeyValue(String.format("key%06d", number).getBytes(StandardCharsets.UTF_8), null, null, value));
      }
      writer.appendFileInfo("schema".getBytes(StandardCharsets.UTF_8), "{}".getBytes(StandardCharsets.UTF_8));
      writer.appendMetaBlock("bloomFilter", new Text("bits"));
    }
  }

  private static void prefix(HFileScanner scanner, byte[] prefix) throws Exception {
    int found = scanner.seekTo(sought(prefix));
    boolean more = found == -1 ? scanner.seekTo() : found == 0 || found == -2 || scanner.next();
    for (; more; more = scanner.next()) {
      byte[] key = CellUtil.cloneRow(scanner.getCell());
      int order = Arrays.compareUnsigned(key, 0, Math.min(key.length, prefix.length), prefix, 0, prefix.length);
      if (order > 0) {
        return;
      }
      if (order == 0) {
        say(scanner.getCell());
      }
    }
  }

  private static Cell sought(byte[] row) {
    return new KeyValue(row, null, null, null);
  }

  private static void say(Cell cell) {
    System.out.println(HEX.formatHex(CellUtil.cloneRow(cell)) + " " + HEX.formatHex(CellUtil.cloneValue(cell)));
  }
}
