import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.config.Config;

/**
 * A JVM with a real Redisson client that enters a critical section many times.
 * Usage: java -cp <class path> Contender <redis url> <lock> <times> <reentrant|spin|fair>
 * Prints "ready", waits for a line, and then prints one for each time: when it asked, the start and the end of the
 * section, by the clock that all processes share.
 */
public class Contender {
  public static void main(String[] arguments) throws Exception {
    Config config = new Config();
    config.useSingleServer().setAddress(arguments[0]).setConnectionMinimumIdleSize(2).setConnectionPoolSize(4);
    var redisson = Redisson.create(config);
    RLock lock = switch (arguments[3]) {
      case "spin" -> redisson.getSpinLock(arguments[1]);
      case "fair" -> redisson.getFairLock(arguments[1]);
      default -> redisson.getLock(arguments[1]);
    };
    System.out.println("ready");
    System.in.read();
    for (int time = 0; time < Integer.parseInt(arguments[2]); time++) {
      long asked = System.nanoTime();
      if (!lock.tryLock(60, TimeUnit.SECONDS)) throw new IllegalStateException("not in time");
      long start = System.nanoTime();
      Thread.sleep(5);
      System.out.println(asked + " " + start + " " + System.nanoTime());
      lock.unlock();
      Thread.sleep(10);
    }
    redisson.shutdown();
  }
}
