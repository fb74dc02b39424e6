import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * A JVM of the lock storm: threads with a real Redisson client, beside processes with our locks. Usage:
 * java StormContender <name> <seed> <folder> <redis url> <lease ms> <bell ms> <key>/<rung>/<arrival>/<style>,… …
 * A style is lock, tryLock-seconds or tryLock-milliseconds; each is one thread. Words on the standard input, records
 * and the witness are those of lock-storm-contender.mjs.
 */
public class StormContender {
  private record Lane(String key, String rung, String arrival, String style, int number) {}

  private static final AtomicInteger sections = new AtomicInteger();
  private static final Set<String> waiting = ConcurrentHashMap.newKeySet();
  private static volatile boolean stopping = false;

  private static String name;
  private static Path folder;
  private static long leaseMs;
  private static long bellMs;
  private static FileOutputStream records;
  private static RedissonClient redisson;

  public static void main(String[] arguments) throws Exception {
    name = arguments[0];
    folder = Path.of(arguments[2]);
    leaseMs = Long.parseLong(arguments[4]);
    bellMs = Long.parseLong(arguments[5]);
    records = new FileOutputStream(folder.resolve(name + ".jsonl").toFile(), true);
    redisson = Redisson.create(config(arguments[3]));
    List<Lane> lanes = new ArrayList<>();
    for (int index = 6; index < arguments.length; index++) {
      String[] parts = arguments[index].split("/");
      String[] styles = parts[3].split(",");
      for (int number = 0; number < styles.length; number++)
        lanes.add(new Lane(parts[0], parts[1], parts[2], styles[number], number));
      record("client", parts[0], ",\"client\":\"" + redisson.getId() + "\"");
    }
    System.out.println("ready");
    obey(lanes, Long.parseLong(arguments[1]));
    System.exit(0);
  }

  private static Config config(String url) {
    Config config = new Config();
    config.setLockWatchdogTimeout(leaseMs).setThreads(4).setNettyThreads(4);
    config.useSingleServer().setAddress(url).setTimeout(500).setRetryAttempts(2).setRetryInterval(200)
        .setConnectionMinimumIdleSize(2).setConnectionPoolSize(16).setSubscriptionConnectionPoolSize(16);
    return config;
  }

  private static void obey(List<Lane> lanes, long seed) throws Exception {
    BufferedReader words = new BufferedReader(new InputStreamReader(System.in));
    List<Thread> threads = new ArrayList<>();
    for (String word = words.readLine(); word != null; word = words.readLine()) {
      switch (word) {
        case "go" -> {
          for (Lane lane : lanes) {
            Random random = new Random(seed * 1_000 + threads.size());
            threads.add(new Thread(() -> run(lane, random)));
          }
          threads.forEach(Thread::start);
        }
        case "calm" -> lanes.forEach(lane -> waiting.add(lane.key + " " + lane.number));
        case "stop" -> new Thread(() -> stop(threads)).start();
        default -> tryEach(lanes);
      }
    }
  }

  private static void stop(List<Thread> threads) {
    stopping = true;
    for (Thread thread : threads) {
      try {
        thread.join();
      } catch (InterruptedException error) {
        throw new IllegalStateException(error);
      }
    }
    System.out.println("stopped");
  }

  private static void run(Lane lane, Random random) {
    RLock lock = lockOf(lane);
    while (!stopping) {
      sleep(lane.arrival.equals("bell") ? untilBell(lane.key) : random.nextInt(15));
      if (stopping) return;
      takeTurn(lane, lock, random);
    }
  }

  private static RLock lockOf(Lane lane) {
    String key = "lock:" + lane.key;
    return lane.rung.equals("redis-fair") ? redisson.getFairLock(key) : redisson.getLock(key);
  }

  private static long untilBell(String key) {
    long offsetMs = (key.length() * 97L) % bellMs;
    return bellMs - ((System.currentTimeMillis() - offsetMs) % bellMs);
  }

  private static void takeTurn(Lane lane, RLock lock, Random random) {
    double asked = now();
    record("asked", lane, ",\"style\":\"" + lane.style + "\"");
    boolean isGranted;
    try {
      isGranted = acquire(lane, lock);
    } catch (Exception error) {
      refused(lane, error.getClass().getSimpleName());
      sleep(leaseMs); // It may be granted, and asking again would be a re-entry that keeps it.
      return;
    }
    if (!isGranted) {
      refused(lane, "not-in-time");
      return;
    }
    enter(lane, asked, random);
    try {
      lock.unlock();
      record("released", lane, "");
    } catch (Exception error) { // Lost after a stop, or Redis does not answer.
      record("release-failed", lane, ",\"reason\":\"" + error.getClass().getSimpleName() + "\"");
      sleep(leaseMs);
    }
  }

  private static boolean acquire(Lane lane, RLock lock) throws InterruptedException {
    return switch (lane.style) {
      case "tryLock-seconds" -> lock.tryLock(2, TimeUnit.SECONDS);
      case "tryLock-milliseconds" -> lock.tryLock(2_000, TimeUnit.MILLISECONDS);
      default -> {
        lock.lock();
        yield true;
      }
    };
  }

  private static void enter(Lane lane, double asked, Random random) {
    if (waiting.remove(lane.key + " " + lane.number))
      System.out.println("entered " + lane.key + " " + lane.number);
    String section = name + "." + lane.number + "." + sections.incrementAndGet();
    Path inside = folder.resolve(lane.key).resolve("inside");
    Path counter = folder.resolve(lane.key).resolve("counter");
    try {
      double at = now();
      Files.createDirectories(inside);
      Files.createFile(inside.resolve(section));
      String beside = others(inside, section);
      long read = Files.exists(counter) ? Long.parseLong(Files.readString(counter)) : 0;
      write(at, "entered", lane.key, ",\"lane\":" + lane.number + ",\"section\":\"" + section + "\",\"style\":\"" + lane.style
          + "\",\"asked\":" + asked + ",\"beside\":[" + beside + "],\"read\":" + read);
      sleep(random.nextInt(100) < 10 ? 30 + random.nextInt(120) : random.nextInt(4));
      Path next = folder.resolve(section);
      Files.writeString(next, String.valueOf(read + 1));
      Files.move(next, counter, StandardCopyOption.ATOMIC_MOVE);
      Files.deleteIfExists(inside.resolve(section));
      record("left", lane, ",\"section\":\"" + section + "\",\"wrote\":" + (read + 1));
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }

  private static String others(Path inside, String section) throws IOException {
    List<String> names = new ArrayList<>();
    try (var marks = Files.newDirectoryStream(inside)) {
      for (Path mark : marks)
        if (!mark.getFileName().toString().equals(section)) names.add("\"" + mark.getFileName() + "\"");
    }
    return String.join(",", names);
  }

  private static void tryEach(List<Lane> lanes) {
    for (Lane lane : lanes) {
      if (lane.number > 0) continue;
      RLock lock = lockOf(lane);
      boolean isGranted = lock.tryLock();
      record("tried", lane.key, ",\"granted\":" + isGranted);
      if (isGranted) lock.unlock();
    }
    System.out.println("tried");
  }

  private static void refused(Lane lane, String reason) {
    record("refused", lane, ",\"reason\":\"" + reason + "\"");
  }

  private static void record(String event, Lane lane, String facts) {
    record(event, lane.key, ",\"lane\":" + lane.number + facts);
  }

  private static void record(String event, String key, String facts) {
    write(now(), event, key, facts);
  }

  /** One write for one line: a process that is killed leaves no half of it. */
  private static void write(double at, String event, String key, String facts) {
    String line = "{\"at\":" + at + ",\"process\":\"" + name + "\",\"event\":\"" + event + "\",\"key\":\"" + key + "\"" + facts + "}\n";
    try {
      records.write(line.getBytes(StandardCharsets.UTF_8));
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }

  /** The clock that all processes of the machine share, in milliseconds. */
  private static double now() {
    return System.nanoTime() / 1e6;
  }

  private static void sleep(long forMs) {
    try {
      Thread.sleep(forMs);
    } catch (InterruptedException error) {
      throw new IllegalStateException(error);
    }
  }
}
