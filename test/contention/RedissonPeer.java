// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Redisson's own locks, for a while: RedissonPeer PORT KEY lock|fenced SECONDS MARKS (see marks.hpp)
import java.io.FileWriter;
import java.util.Random;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

public class RedissonPeer {
    public static void main(String[] arguments) throws Exception {
        Config config = new Config();
        config.useSingleServer().setAddress("redis://127.0.0.1:" + arguments[0]).setConnectionMinimumIdleSize(1).setConnectionPoolSize(4);
        RedissonClient client = Redisson.create(config);
        RFencedLock fenced = arguments[2].equals("fenced") ? client.getFencedLock(arguments[1]) : null;
        RLock lock = fenced != null ? fenced : client.getLock(arguments[1]);
        Random random = new Random();
        boolean lost = false;
        long end = System.nanoTime() + Long.parseLong(arguments[3]) * 1_000_000_000L;
        try (FileWriter marks = new FileWriter(arguments[4], true)) {
            while (System.nanoTime() < end) {
                lock.lock();
                long token = fenced != null ? fenced.getToken() : 0;
                marks.write("redisson in " + System.nanoTime() + " 0 " + token + "\n");
                marks.flush();
                Thread.sleep(1 + random.nextInt(5));
                marks.write("redisson out " + System.nanoTime() + " 0 " + token + "\n");
                marks.flush();
                try {
                    lock.unlock();
                } catch (IllegalMonitorStateException removed) {
                    lost = true;
                }
            }
        }
        client.shutdown();
        if (lost)
            System.err.println("a lock was removed while it was held");
        System.exit(lost ? 1 : 0);
    }
}
