import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.config.Config;

/**
 * For `lockstep bench-locks`: a real Redisson client that acquires and releases a lock again and again.
 * Usage: java -cp <jars> RedissonCycles.java <redis url>
 * Reads lines "<lock> <milliseconds>". Prints "ready" first, and then for each line, once its time is over: the number of
 * cycles, the nanoseconds they took, and the nanoseconds of the cycle at p99.
 */
public class RedissonCycles {
  public static void main(String[] arguments) throws Exception {
    Config config = new Config();
    config.useSingleServer().setAddress(arguments[0]).setConnectionMinimumIdleSize(2).setConnectionPoolSize(4);
    var redisson = Redisson.create(config);
    var lines = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] words = line.split(" ");
      System.out.println(repeat(redisson.getLock(words[0]), Long.parseLong(words[1]) * 1_000_000));
    }
    redisson.shutdown();
  }

  private static String repeat(RLock lock, long forNanoseconds) {
    long[] cycles = new long[1024];
    int count = 0;
    long start = System.nanoTime();
    long now = start;
    while (now - start < forNanoseconds) {
      lock.lock();
      lock.unlock();
      long before = now;
      now = System.nanoTime();
      if (count == cycles.length) cycles = Arrays.copyOf(cycles, 2 * count);
      cycles[count++] = now - before;
    }
    Arrays.sort(cycles, 0, count);
    return count + " " + (now - start) + " " + cycles[(int) ((count - 1) * 0.99)];
  }
}
