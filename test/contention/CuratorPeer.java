// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Curator's own locks, for a while: CuratorPeer HOST:PORT PATH mutex|readwrite SECONDS MARKS (see marks.hpp)
import java.io.FileWriter;
import java.util.Random;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.retry.RetryOneTime;

public class CuratorPeer {
    public static void main(String[] arguments) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(arguments[0], new RetryOneTime(100));
        client.start();
        InterProcessReadWriteLock both = new InterProcessReadWriteLock(client, arguments[1]);
        InterProcessMutex mutex = new InterProcessMutex(client, arguments[1]);
        Random random = new Random();
        long end = System.nanoTime() + Long.parseLong(arguments[3]) * 1_000_000_000L;
        try (FileWriter marks = new FileWriter(arguments[4], true)) {
            while (System.nanoTime() < end) {
                boolean reads = arguments[2].equals("readwrite") && random.nextInt(2) == 0;
                InterProcessMutex lock = arguments[2].equals("mutex") ? mutex : reads ? both.readLock() : both.writeLock();
                lock.acquire();
                marks.write("curator in " + System.nanoTime() + (reads ? " 1\n" : " 0\n"));
                marks.flush();
                Thread.sleep(1 + random.nextInt(5));
                marks.write("curator out " + System.nanoTime() + (reads ? " 1\n" : " 0\n"));
                marks.flush();
                lock.release();
            }
        }
        client.close();
    }
}
