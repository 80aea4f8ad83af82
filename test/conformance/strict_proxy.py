# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""A proxy in front of a Redis server that refuses what some services and servers refuse.

    strict_proxy.py PORT SERVER_PORT MODES

serves 127.0.0.1:PORT until it is killed. MODES are some of these, with a plus between them. In every mode a script may
use no key that is not in its KEYS.

  keys            nothing else is refused
  queueing        EVAL and EVALSHA after MULTI, when they are queued (ElastiCache Serverless, Dragonfly)
  exec            the same, when EXEC runs them
  multi           MULTI and EXEC
  publish         PUBLISH in scripts
  administration  CONFIG, ACL, CLIENT, INFO (managed services)
  slots           keys of several hash slots in one command, script or transaction; the proxy looks like a cluster with
                  one node
  text            scripts that use keys otherwise than by KEYS[i], or publish (ApsaraDB and Tair behind their proxy)

A refusal is sent to the server in the place of the refused command, as a command with that answer. So answers need no
order of their own.
"""

import asyncio
import hashlib
import re
import sys

KEYLESS = {"TIME", "PUBLISH", "SPUBLISH"}
ALL_KEYS = {"MGET", "EXISTS", "DEL"}

STRICT_KEYS = """
local raw, declared = redis, {}
for _, key in ipairs(KEYS) do declared[key] = true end
local keyless = {TIME = true, PUBLISH = true, SPUBLISH = true}
local all = {MGET = true, EXISTS = true, DEL = true}
local function checked(run) return function(name, ...)
  local words = {...}
  for at = 1, keyless[name] and 0 or all[name] and #words or 1 do
    if not declared[words[at]] then error('undeclared key ' .. tostring(words[at]) .. ' in ' .. name) end
  end
  PUBLISH_RULE
  return run(name, ...)
end end
local redis = {call = checked(raw.call), pcall = checked(raw.pcall), error_reply = raw.error_reply,
  status_reply = raw.status_reply}
"""
NO_PUBLISH = (
    "if name == 'PUBLISH' or name == 'SPUBLISH' then "
    "return {err = 'ERR This Redis command is not allowed from script'} end"
)
BAD_SCRIPT = (
    "ERR bad lua script for redis cluster, all the keys that the script uses should be passed using the KEYS array"
)
FIRST = re.compile(r"^'([A-Z]+)'$")
KEY = re.compile(r"^KEYS\[[A-Za-z0-9_]+\]$")


def strict_text(text, modes):
    """Begins with the check on the line of its first statement, so that errors name the same lines as without."""
    rule = NO_PUBLISH if "publish" in modes else ""
    return " ".join(STRICT_KEYS.replace("PUBLISH_RULE", rule).split()) + text


def passes_check(text):
    """What is known of the check: the command is a literal, and each key is KEYS[i]. `unpack` is no such key."""
    for call in re.findall(r"redis\.p?call\(.*", text):
        arguments = [word.strip() for word in call[call.index("(") + 1 :].split(",")]
        arguments[-1] = arguments[-1].split(")")[0]
        arguments[0] = arguments[0].split(")")[0]
        name = FIRST.match(arguments[0])
        if not name or name[1] in ("PUBLISH", "SPUBLISH"):
            return False
        keys = [] if name[1] in KEYLESS else arguments[1:] if name[1] in ALL_KEYS else arguments[1:2]
        if not all(KEY.match(key.split(")")[0]) for key in keys):
            return False
    return True


def crc16(data):
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1) ^ 0x1021 if crc & 0x8000 else crc << 1
    return crc & 0xFFFF


def hash_slot(key):
    begin = key.find(b"{")
    end = key.find(b"}", begin + 1) if begin >= 0 else -1
    return crc16(key[begin + 1 : end] if end > begin + 1 else key) % 16384


def encode(words):
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def error(text):
    """A command whose answer is this error."""
    return ["EVAL", "return redis.error_reply(ARGV[1])", 0, text]


def keys_of(name, words):
    if name in ("EVAL", "EVALSHA"):
        return words[3 : 3 + int(words[2])]
    if name in ("SET", "GET", "PTTL", "LREM", "DELIFEQ", "DELEX"):
        return words[1:2]
    return words[1:] if name in ALL_KEYS else []


class Client:
    """Rewrites the commands of one connection."""

    def __init__(self, modes, port, scripts):
        self.modes, self.port, self.scripts = modes, port, scripts
        self.queueing = False
        self.slots = set()

    def rewrite(self, words):
        name = words[0].decode().upper()
        modes = self.modes
        if "administration" in modes and name in ("CONFIG", "ACL", "CLIENT", "INFO"):
            return error(f"ERR unknown command '{name}'")
        if "multi" in modes and name in ("MULTI", "EXEC"):
            return error(f"ERR unknown command '{name}'")
        if name == "CLUSTER":
            slots = "return {{0, 16383, {ARGV[1], tonumber(ARGV[2]), 'one'}}}"
            is_slots = "slots" in modes and words[1].upper() == b"SLOTS"
            return ["EVAL", slots, 0, "127.0.0.1", self.port] if is_slots else error("ERR unknown subcommand")
        if "slots" in modes and not self.one_slot(name, words):
            raise ConnectionError(f"CROSSSLOT: {words}")
        in_transaction, self.queueing = self.queueing, name == "MULTI" or (self.queueing and name != "EXEC")
        if name not in ("EVAL", "EVALSHA"):
            return words
        if in_transaction and "queueing" in modes:
            # only a command that is not known is refused when it is queued
            return [f"{name} is not allowed in a transaction"]
        if in_transaction and "exec" in modes:
            return error(f"ERR {name} is not allowed in a transaction")
        return self.script(name, words)

    def one_slot(self, name, words):
        slots = {hash_slot(key) for key in keys_of(name, words)}
        if name in ("MULTI", "EXEC", "DISCARD") or not self.queueing:
            self.slots = set()
        self.slots |= slots
        return len(self.slots) <= 1

    def script(self, name, words):
        text = words[1].decode() if name == "EVAL" else self.scripts.get(words[1])
        if text is None:
            return error("NOSCRIPT No matching script. Please use EVAL.")
        if name == "EVAL":
            if "text" in self.modes and not passes_check(text):
                return error(BAD_SCRIPT)
            if "text" in self.modes and words[2] == b"0":
                return error("ERR for redis cluster, eval/evalsha number of keys can't be negative or zero")
            self.scripts[sha1(text)] = text
        return ["EVAL", strict_text(text, self.modes), *words[2:]]


def sha1(text):
    return hashlib.sha1(text.encode()).hexdigest().encode()


async def read_command(reader):
    head = await reader.readline()
    if not head:
        return None
    words = []
    for _ in range(int(head[1:])):
        size = int((await reader.readline())[1:])
        words.append((await reader.readexactly(size + 2))[:-2])
    return words


async def pump(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    writer.close()


async def main():
    port, server_port, modes = int(sys.argv[1]), int(sys.argv[2]), set(sys.argv[3].split("+"))
    scripts = {}

    async def serve(reader, writer):
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", server_port)
        client = Client(modes, port, scripts)
        replies = asyncio.create_task(pump(server_reader, writer))
        try:
            while words := await read_command(reader):
                server_writer.write(encode(client.rewrite(words)))
        except (ConnectionError, asyncio.IncompleteReadError) as gone:
            if "CROSSSLOT" in str(gone):
                print(gone, file=sys.stderr, flush=True)
        server_writer.close()
        await replies

    server = await asyncio.start_server(serve, "127.0.0.1", port, limit=1 << 24)
    await server.serve_forever()


asyncio.run(main())
