# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""A worker as people write it with redis-py, on the keys of a tenure pool.

    python_worker.py PORT PREFIX SIZE TTL_MS LONGEST_HOLD_MS SECONDS AUDIT_PIPE AUDIT_FILE

It takes the first free slot by SET NX PX, renews by compare-and-pexpire, releases by compare-and-delete, and tells the
auditor through AUDIT_PIPE when it relies on a slot.
"""

import os
import random
import subprocess
import sys
import time
import uuid

import redis

COMPARE_AND_DELETE = """
if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('del', KEYS[1])
end
return 0
"""
COMPARE_AND_PEXPIRE = """
if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('pexpire', KEYS[1], ARGV[2])
end
return 0
"""


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Audit:
    def __init__(self, program, file):
        self.process = subprocess.Popen(
            [program, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def order(self, *words):
        self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


class Worker:
    def __init__(self, port, prefix, size, ttl, longest_hold, audit):
        self.redis = redis.Redis(host="127.0.0.1", port=port, decode_responses=True)
        self.delete = self.redis.register_script(COMPARE_AND_DELETE)
        self.pexpire = self.redis.register_script(COMPARE_AND_PEXPIRE)
        self.prefix, self.size, self.ttl, self.longest_hold = prefix, size, ttl, longest_hold
        self.audit = audit

    def valid_until(self, asked):
        return asked + (self.ttl * 99 // 100 - 10) * 1_000_000

    def acquire(self, owner):
        """The first free slot and until when it is ours, or None."""
        for slot in range(self.size):
            asked = now()
            if self.redis.set(self.prefix + str(slot), owner, nx=True, px=self.ttl):
                return slot, self.valid_until(asked)
        return None

    def hold(self, slot, owner, valid_until):
        key = self.prefix + str(slot)
        entry = self.audit.order("enter", slot, valid_until)
        end = now() + random.randrange(self.longest_hold) * 1_000_000
        renewal = now() + self.ttl * 1_000_000 // 3
        while now() < min(end, valid_until):
            time.sleep(0.002)
            if now() >= renewal:
                renewal = asked = now()
                renewal += self.ttl * 1_000_000 // 3
                if not self.pexpire(keys=[key], args=[owner, self.ttl]):
                    sys.exit(f"{key} was lost, though it was renewed in time")
                valid_until = self.valid_until(asked)
                self.audit.order("extend", entry, valid_until)
        self.audit.order("leave", entry)

    def run(self, seconds):
        end = now() + seconds * 1_000_000_000
        while now() < end:
            owner = f"{uuid.uuid4()}-{os.getpid()}"
            granted = self.acquire(owner)
            if granted is None:
                time.sleep(random.uniform(0.001, 0.02))
                continue
            slot, valid_until = granted
            self.hold(slot, owner, valid_until)
            self.delete(keys=[self.prefix + str(slot)], args=[owner])


def main():
    port, prefix, size, ttl, longest_hold, seconds, audit_pipe, audit_file = sys.argv[1:]
    audit = Audit(audit_pipe, audit_file)
    Worker(int(port), prefix, int(size), int(ttl), int(longest_hold), audit).run(int(seconds))


if __name__ == "__main__":
    main()
