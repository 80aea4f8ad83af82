// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "raw/redlock.hpp"

#include "harness/stopwatch.hpp"
#include "raw/quorum.hpp"
#include "raw/scripts.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace bench::raw
{

namespace
{

/// as long as an owner of the library: name of the worker, a slash, 128 random bits
constexpr std::string_view owner = "bench-host:12345/0123456789abcdef0123456789abcdef";
constexpr std::string_view ttl = "10000";

/** One key, and its two commands ready to be sent. */
struct Key {
    std::string acquire;
    std::string release;
    bool held = false;
    /// of the command under way: its number among the key's commands, and how many servers have answered it
    std::uint64_t command = 0;
    std::size_t answers = 0;

    [[nodiscard]] std::string const& next() const noexcept { return held ? release : acquire; }
};

std::string load(Quorum& quorum, std::string_view script)
{
    std::string hash;
    for (std::size_t server = 0; server < quorum.size(); ++server)
        hash = quorum[server].load(script);
    return hash;
}

std::vector<Key> make_keys(Quorum& quorum, unsigned count, Claim claim)
{
    auto const release = load(quorum, compare_and_delete);
    auto const fenced = load(quorum, claim_with_token);
    std::vector<Key> keys;
    for (unsigned number = 0; number < count; ++number) {
        auto const name = "bench:lock:" + std::to_string(number);
        keys.push_back(
            {claim == Claim::plain ? encode({"SET", name, owner, "NX", "PX", ttl})
                                   : encode({"EVALSHA", fenced, "2", name, "{" + name + "}:fence", owner, ttl}),
             encode({"EVALSHA", release, "1", name, owner})});
    }
    return keys;
}

/** The commands of all keys on all servers: each of them is done with a majority of answers, and what comes later does
 * not count. */
class Pipeline
{
public:
    Pipeline(Quorum& quorum, unsigned keys, Claim claim)
        : quorum_(quorum)
        , keys_(make_keys(quorum, keys, claim))
        , unanswered_(quorum.size())
    {
        for (unsigned number = 0; number < keys; ++number)
            issue(number);
    }

    /** Sends what is ready and takes what has arrived. */
    void turn()
    {
        if (!output_.empty())
            quorum_.send_all(output_);
        output_.clear();
        quorum_.receive([this](std::size_t server, Reply const& reply) { answered(server, reply); });
    }

    [[nodiscard]] std::uint64_t acquired() const noexcept { return acquired_; }
    [[nodiscard]] std::uint64_t released() const noexcept { return released_; }

private:
    struct Question {
        unsigned key;
        std::uint64_t command;
        bool release;
    };

    void issue(unsigned number)
    {
        auto const& key = keys_[number];
        output_ += key.next();
        for (auto& questions : unanswered_)
            questions.push_back({number, key.command, key.held});
    }

    void answered(std::size_t server, Reply const& reply)
    {
        auto const question = unanswered_[server].front();
        unanswered_[server].pop_front();
        check(reply);
        if (question.release ? reply.text != "1" : reply.text == "0" || reply.text.empty())
            throw std::runtime_error("the raw client lost a lock");
        auto& key = keys_[question.key];
        if (question.command != key.command || ++key.answers < quorum_.majority())
            return;
        ++(key.held ? released_ : acquired_);
        key.held = !key.held;
        key.answers = 0;
        ++key.command;
        issue(question.key);
    }

    Quorum& quorum_;
    std::vector<Key> keys_;
    /// of each server, in the order of its replies
    std::vector<std::deque<Question>> unanswered_;
    /// the bytes of the next writes, the same to all servers
    std::string output_;
    std::uint64_t acquired_ = 0;
    std::uint64_t released_ = 0;
};

} // namespace

Measurement redlock_acquire(std::vector<std::uint16_t> const& ports, unsigned times, Claim claim)
{
    Quorum quorum(ports);
    Pipeline pipeline(quorum, 1, claim);
    std::vector<double> micros;
    auto const warm_up = times / 10;
    for (unsigned time = 0; time < warm_up + times; ++time) {
        auto const begin = Steady::now();
        for (auto const before = pipeline.acquired(); pipeline.acquired() == before;)
            pipeline.turn();
        if (time >= warm_up)
            micros.push_back(microseconds_since(begin));
        for (auto const before = pipeline.released(); pipeline.released() == before;)
            pipeline.turn();
    }
    return {median(micros)};
}

Measurement redlock_pairs(std::vector<std::uint16_t> const& ports, unsigned keys, double seconds)
{
    Quorum quorum(ports);
    Pipeline pipeline(quorum, keys, Claim::plain);
    auto const run = [&](double length) {
        auto const before = pipeline.released();
        for (auto const begin = Steady::now(); seconds_since(begin) < length;)
            pipeline.turn();
        return static_cast<double>(pipeline.released() - before);
    };
    run(seconds / 10);
    auto const begin = Steady::now();
    auto const cpu = cpu_seconds();
    auto const pairs = run(seconds);
    return {pairs / seconds_since(begin), (cpu_seconds() - cpu) * 1e6 / pairs};
}

} // namespace bench::raw
