import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.config.Config;

/**
 * A JVM with a real Redisson client that enters a critical section many times.
 * Usage: java -cp 'lib/*' Contender.java <redis url> <lock> <times>
 * Prints one line for each time: the start and the end of the section, by the clock that all processes share.
 */
public class Contender {
  public static void main(String[] arguments) throws Exception {
    Config config = new Config();
    config.useSingleServer().setAddress(arguments[0]).setConnectionMinimumIdleSize(2).setConnectionPoolSize(4);
    var redisson = Redisson.create(config);
    RLock lock = redisson.getLock(arguments[1]);
    for (int time = 0; time < Integer.parseInt(arguments[2]); time++) {
      if (!lock.tryLock(60, TimeUnit.SECONDS)) throw new IllegalStateException("not in time");
      long start = System.nanoTime();
      Thread.sleep(5);
      System.out.println(start + " " + System.nanoTime());
      lock.unlock();
    }
    redisson.shutdown();
  }
}
