// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "redis_under_attack.hpp"
#include "stranger.hpp"

#include "fleet.hpp"

#include "harness/auditor.hpp"
#include "harness/eventually.hpp"
#include "harness/owner_mark.hpp"

#include <exception>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <utility>

namespace tenure::faults
{

using namespace std::chrono_literals;
using test::boottime_ns;
using test::eventually;

bool RedisUnderAttack::tokens_are_ahead() const
{
    return expiry_delay(boottime_ns() - 2'000'000'000) > 0;
}

bool RedisUnderAttack::stop(Attack& attack, bool briefly)
{
    auto const ttl = arena_.ttl;
    FaultScope const fault{
        attack.ledger,
        briefly ? harmless("server stopped for less than G/3") : disturbing("server stopped for more than G")};
    server_.pause();
    // Less by what is lost between the two signals.
    attack.wait(briefly ? attack.random.between(ttl / 12, ttl / 4) : attack.random.between(ttl * 11 / 10, ttl * 9 / 5));
    server_.resume();
    return true;
}

bool RedisUnderAttack::restart(Attack& attack, bool with_data)
{
    if (!with_data && tokens_are_ahead())
        return false;
    FaultScope const fault{
        attack.ledger, with_data ? disturbing("server killed, restarted with its data (everysec)")
                                 : forgetting("server killed, restarted without its data")};
    if (with_data) {
        // A write during an fsync is not in the file yet, and a kill would lose it: the weakness
        // of everysec, which shows only where the disk is slow. Data-loss faults are others.
        auto client = server_.client();
        static_cast<void>(eventually([&] { return client.info("aof_pending_bio_fsync") == "0"; }, 1s));
    }
    server_.kill();
    if (!with_data)
        std::filesystem::remove_all(server_.directory() + "/appendonlydir");
    attack.wait(attack.random.between(0ms, arena_.ttl / 2));
    server_.start();
    return true;
}

bool RedisUnderAttack::forget_all(Attack& attack)
{
    if (tokens_are_ahead())
        return false;
    FaultScope const fault{attack.ledger, forgetting("FLUSHALL")};
    server_.client().call("FLUSHALL");
    return true;
}

bool RedisUnderAttack::run_out_of_memory(Attack& attack)
{
    FaultScope const fault{attack.ledger, disturbing("out of memory (OOM)")};
    auto client = server_.client();
    client.call("CONFIG", "SET", "maxmemory", "1");
    attack.wait(attack.random.between(arena_.ttl / 2, arena_.ttl * 3 / 2));
    client = server_.client();
    client.call("CONFIG", "SET", "maxmemory", "0");
    return true;
}

bool RedisUnderAttack::fail_to_save(Attack& attack)
{
    FaultScope const fault{attack.ledger, disturbing("snapshots fail (MISCONF)")};
    // A snapshot cannot replace a folder, whatever user the server runs as.
    auto const obstacle = server_.directory() + "/dump.rdb";
    std::filesystem::create_directory(obstacle);
    auto client = server_.client();
    client.call("CONFIG", "SET", "save", "3600 1000000");
    client.call("BGSAVE");
    bool const failing = eventually([&] { return client.info("rdb_last_bgsave_status") == "err"; });
    if (failing)
        attack.wait(attack.random.between(arena_.ttl / 2, arena_.ttl * 3 / 2));
    client = server_.client();
    client.call("CONFIG", "SET", "save", "");
    std::filesystem::remove(obstacle);
    if (!failing)
        throw std::runtime_error("the server's snapshot did not fail");
    return true;
}

bool RedisUnderAttack::jump(Attack& attack)
{
    bool const ahead = clock_.offset() == 0s;
    // After a jump back, keys without renewals stay for the duration of the jump, which has to be over at the end.
    if (!ahead && attack.end < boottime_ns() + std::chrono::nanoseconds{clock_jump}.count())
        return false;
    FaultScope const fault{
        attack.ledger, ahead ? forgetting("server's wall clock +60 s") : disturbing("server's wall clock -60 s")};
    if (!ahead)
        jumped_back_ = boottime_ns();
    clock_.set(ahead ? clock_jump : 0s);
    // The server reads its clock at least ten times a second.
    attack.wait(200ms);
    return true;
}

bool RedisUnderAttack::overwrite(Attack& attack, bool only_delete)
{
    // A holder that renews: one that releases at once detects nothing.
    auto const victim = attack.fleet.oldest_holder();
    if (!victim)
        return false;
    auto const key = arena_.key(victim->cell);
    auto client = server_.client();
    auto const mark = test::owner_mark(client.get(key).value_or(""));
    // The holder must be the process that is recorded as the victim.
    if (mark != victim->mark || attack.fleet.holder_of(victim->cell) != victim->fencing_token)
        return false;
    auto robbed =
        forgetting(only_delete ? "key deleted by a stranger" : "key overwritten by a stranger", {victim->cell});
    // it prevents no other renewal
    robbed.harmless = true;
    FaultScope const fault{attack.ledger, std::move(robbed)};
    if (only_delete) {
        if (client.call("DEL", key).integer == 1)
            attack.fleet.robbed(*victim);
        return true;
    }
    if (client.call("SET", key, stranger, "XX", "PX", 3 * arena_.ttl.count()).is_null())
        return true;
    attack.fleet.robbed(*victim);
    // Until the former holder has released, and a while longer: the foreign value must stay.
    static_cast<void>(eventually(
        [&] {
            attack.wait(20ms);
            return attack.fleet.holder_of(victim->cell) != victim->fencing_token;
        },
        arena_.ttl * 3 / 2));
    attack.wait(100ms);
    auto const value = client.get(key);
    if (value != stranger)
        attack.ledger.breach(
            "S7", key + ": what a stranger wrote is gone, there is " + (value ? "another claim" : "nothing"));
    else
        client.call("DEL", key);
    return true;
}

bool RedisUnderAttack::delete_places(Attack& attack, bool only_one)
{
    auto const cell = static_cast<std::uint32_t>(attack.random.below(arena_.cells()));
    auto client = server_.client();
    auto deleted = forgetting(only_one ? "a place deleted by a person" : "all places of a key deleted", {cell});
    deleted.harmless = true;
    FaultScope const fault{attack.ledger, std::move(deleted)};
    if (!only_one) {
        client.call("DEL", arena_.key(cell));
        return true;
    }
    for (auto const& field : client.call("HKEYS", arena_.key(cell)).elements)
        if (field.text != "mode" && field.text != "head" && !field.text.starts_with('~'))
            return client.call("HDEL", arena_.key(cell), field.text).integer == 1;
    return true;
}

std::vector<Disturbance> RedisUnderAttack::server_disturbances()
{
    return {
        {"server stopped for less than G/3", 2, [this](Attack& attack) { return stop(attack, true); }},
        {"server stopped for more than G", 2, [this](Attack& attack) { return stop(attack, false); }},
        {"server killed, restarted with its data (everysec)", 2,
         [this](Attack& attack) { return restart(attack, true); }},
        {"server killed, restarted without its data", 1, [this](Attack& attack) { return restart(attack, false); }},
        {"server's wall clock jumps", 2, [this](Attack& attack) { return jump(attack); }}};
}

std::vector<Disturbance> RedisUnderAttack::memory_disturbances()
{
    std::vector<Disturbance> all{
        {"out of memory (OOM)", 1, [this](Attack& attack) { return run_out_of_memory(attack); }},
        {"snapshots fail (MISCONF)", 1, [this](Attack& attack) { return fail_to_save(attack); }},
        {"FLUSHALL", 1, [this](Attack& attack) { return forget_all(attack); }}};
    if (arena_.kinds.empty()) {
        all.push_back(
            {"key overwritten by a stranger", 2, [this](Attack& attack) { return overwrite(attack, false); }});
        all.push_back({"key deleted by a stranger", 2, [this](Attack& attack) { return overwrite(attack, true); }});
    } else {
        all.push_back({"places deleted", 1, [this](Attack& attack) { return delete_places(attack, false); }});
        all.push_back({"a place deleted", 1, [this](Attack& attack) { return delete_places(attack, true); }});
    }
    return all;
}

std::vector<Disturbance> RedisUnderAttack::command_disturbances()
{
    auto const at_once = [this](std::string name, std::vector<std::string> command) {
        return Disturbance{name, 1, [this, name, command = std::move(command)](Attack& attack) {
                               FaultScope const fault{attack.ledger, harmless(name)};
                               if (auto const reply = server_.client().send(command); reply.is_error())
                                   throw std::runtime_error(name + ": " + reply.text);
                               return true;
                           }};
    };
    return {
        at_once("SCRIPT FLUSH", {"SCRIPT", "FLUSH"}),
        at_once("CLIENT KILL TYPE normal", {"CLIENT", "KILL", "TYPE", "normal"}),
        at_once("CLIENT KILL TYPE pubsub", {"CLIENT", "KILL", "TYPE", "pubsub"})};
}

} // namespace tenure::faults
