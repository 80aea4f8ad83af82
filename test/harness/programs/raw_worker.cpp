// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Takes slots of a pool with commands written by hand, and enters the auditor's cells: what the auditor is tried on.
//   raw_worker PORT AUDIT_FILE PREFIX SLOTS TTL_MS SECONDS RELEASE
// It never renews and often holds longer than the ttl, which is allowed: it stops relying on the slot in time. RELEASE
// is `compare`, or `unconditional`: the planted bug, which deletes whatever is under the key by then.
#include "harness/auditor.hpp"
#include "harness/program.hpp"
#include "harness/redis_client.hpp"

#include <unistd.h>

#include <chrono>
#include <random>
#include <string>
#include <thread>

namespace
{

using namespace tenure::test;
using std::chrono::milliseconds;

constexpr char const* compare_and_delete =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

void sleep_until(std::int64_t instant)
{
    auto const left = instant - boottime_ns();
    if (left > 0)
        std::this_thread::sleep_for(std::chrono::nanoseconds{left});
}

void run(char** argument)
{
    RedisClient redis{static_cast<std::uint16_t>(std::stoul(argument[1]))};
    auto auditor = Auditor::open(argument[2]);
    std::string const prefix = argument[3];
    auto const slots = static_cast<std::uint32_t>(std::stoul(argument[4]));
    std::int64_t const ttl = std::stoll(argument[5]);
    auto const end = boottime_ns() + std::stoll(argument[6]) * 1'000'000'000;
    bool const compare = std::string{argument[7]} == "compare";
    std::mt19937_64 random{static_cast<std::uint64_t>(::getpid())};

    for (std::uint32_t slot = 0, grants = 0; boottime_ns() < end; slot = (slot + 1) % slots) {
        auto const key = prefix + std::to_string(slot);
        auto const owner = std::to_string(::getpid()) + "/" + std::to_string(++grants);
        auto const asked = boottime_ns();
        if (redis.call("SET", key, owner, "NX", "PX", ttl).is_null()) {
            std::this_thread::sleep_for(milliseconds{2});
            continue;
        }
        auto const valid_until = asked + (ttl * 99 / 100 - 10) * 1'000'000;
        auto const done =
            boottime_ns() + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * ttl)) * 1'000'000;
        auto const entry = auditor.enter(slot, valid_until);
        sleep_until(std::min(done, valid_until));
        auditor.leave(entry);
        sleep_until(done);
        if (compare)
            redis.call("EVAL", compare_and_delete, 1, key, owner);
        else
            redis.call("DEL", key);
    }
}

} // namespace

int main(int count, char** argument)
{
    return tenure::test::run_program(
        "raw_worker PORT AUDIT_FILE PREFIX SLOTS TTL_MS SECONDS RELEASE", count, argument, run);
}
