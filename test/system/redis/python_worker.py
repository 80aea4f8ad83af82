# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""A worker as people write it with redis-py, on the keys of a tenure pool.

    python_worker.py PORT PREFIX SIZE TTL_MS HOLD_MS REST_MS SECONDS AUDIT_PIPE AUDIT_FILE PAUSE_MS [ignore-answer]

It takes the first free slot by SET NX PX, and asks again after PAUSE_MS while all are held. It renews by
compare-and-pexpire, releases by compare-and-delete, wants no slot for REST_MS afterwards, and tells the auditor through
AUDIT_PIPE when it relies on a slot. HOLD_MS, REST_MS and PAUSE_MS are ranges: 10-50.
`ignore-answer` is the planted bug: whatever the server answers to SET, the worker believes that it has the slot.
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


class Between:
    """A range of milliseconds."""

    def __init__(self, text):
        self.shortest, self.longest = (int(part) for part in text.split("-"))

    def random_ns(self):
        return random.randint(self.shortest, self.longest) * 1_000_000


class Worker:
    def __init__(self, port, prefix, size, ttl, hold, rest, audit, pause, believes):
        self.redis = redis.Redis(host="127.0.0.1", port=port, decode_responses=True)
        self.delete = self.redis.register_script(COMPARE_AND_DELETE)
        self.pexpire = self.redis.register_script(COMPARE_AND_PEXPIRE)
        self.prefix, self.size, self.ttl = prefix, size, ttl
        self.hold_time, self.rest, self.pause = hold, rest, pause
        self.audit, self.believes = audit, believes

    def valid_until(self, asked):
        return asked + (self.ttl * 99 // 100 - 10) * 1_000_000

    def acquire(self, owner):
        """The first free slot and until when it is ours, or None."""
        for slot in range(self.size):
            asked = now()
            if self.redis.set(self.prefix + str(slot), owner, nx=True, px=self.ttl) or self.believes:
                return slot, self.valid_until(asked)
        return None

    def hold(self, slot, owner, valid_until):
        key = self.prefix + str(slot)
        entry = self.audit.order("enter", slot, valid_until)
        end = now() + self.hold_time.random_ns()
        renewal = now() + self.ttl * 1_000_000 // 3
        while now() < min(end, valid_until):
            time.sleep(0.002)
            if now() >= renewal:
                renewal = asked = now()
                renewal += self.ttl * 1_000_000 // 3
                if self.pexpire(keys=[key], args=[owner, self.ttl]):
                    valid_until = self.valid_until(asked)
                    self.audit.order("extend", entry, valid_until)
                elif now() < valid_until:
                    sys.exit(f"{key} was lost before its ttl was over")
        self.audit.order("leave", entry)

    def run(self, seconds):
        end = now() + seconds * 1_000_000_000
        while now() < end:
            owner = f"{uuid.uuid4()}-{os.getpid()}"
            granted = self.acquire(owner)
            if granted is None:
                time.sleep(self.pause.random_ns() / 1e9)
                continue
            slot, valid_until = granted
            self.hold(slot, owner, valid_until)
            self.delete(keys=[self.prefix + str(slot)], args=[owner])
            time.sleep(self.rest.random_ns() / 1e9)


def main():
    port, prefix, size, ttl, hold, rest, seconds, audit_pipe, audit_file, pause, *bug = sys.argv[1:]
    worker = Worker(
        int(port),
        prefix,
        int(size),
        int(ttl),
        Between(hold),
        Between(rest),
        Audit(audit_pipe, audit_file),
        Between(pause),
        believes=bug == ["ignore-answer"],
    )
    worker.run(int(seconds))


if __name__ == "__main__":
    main()
