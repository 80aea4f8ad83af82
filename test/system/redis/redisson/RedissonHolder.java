// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Holds a lock of Redisson as redisson.cpp says: commands come through one list of the server, answers go into another.
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

public class RedissonHolder {
    // PORT NAME WATCHDOG_MS
    public static void main(String[] arguments) throws Exception {
        var config = new Config();
        config.setLockWatchdogTimeout(Long.parseLong(arguments[2]));
        config.useSingleServer().setAddress("redis://127.0.0.1:" + arguments[0]);
        var client = Redisson.create(config);
        var lock = client.getLock(arguments[1]);
        var commands = client.<String>getBlockingQueue("commands", StringCodec.INSTANCE);
        var answers = client.<String>getQueue("answers", StringCodec.INSTANCE);
        for (;;) {
            var command = commands.take();
            switch (command) {
                case "lock":
                    lock.lock();
                    answers.add("locked");
                    break;
                case "unlock":
                    lock.unlock();
                    answers.add("unlocked");
                    break;
                case "try":
                    try {
                        answers.add(lock.tryLock(0, TimeUnit.SECONDS) ? "taken" : "busy");
                    } catch (RuntimeException error) {
                        answers.add("refused: " + error.getMessage());
                    }
                    break;
                default:
                    throw new IllegalArgumentException(command);
            }
        }
    }
}
