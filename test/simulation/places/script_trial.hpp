// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "trial.hpp"

#include <store/redis/shares/replies.hpp>
#include <store/redis/shares/scripts.hpp>

#include <tenure/backend/share.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tenure::simulation
{

/** The parts that all trials share: one key, what owners ask for, and the calls of the scripts. */
class ScriptTrial
{
protected:
    /// weight and capacity
    using Asked = std::pair<std::uint32_t, std::uint32_t>;

    static constexpr std::string_view key = "k";
    static constexpr std::int64_t first_clock = 1'000'000'000'000;
    static constexpr std::int64_t short_ttl = 60'000;
    static constexpr std::int64_t long_ttl = 90'000;

public:
    ScriptTrial(PlaceServer& server, std::uint64_t seed, std::uint64_t purpose, bool delays)
        : server_(server)
        , random_(seed, purpose)
        , style_(random_.below(5))
        , delays_(delays)
    {
        for (auto const* const name : {"k", "fence", "marker", "{k}:watched"})
            server_.command({"DEL", name});
        server_.set_clock(clock_);
        (void)server_.told();
    }

    TrialOutcome outcome;

protected:
    ~ScriptTrial() = default;

    void demand(bool holds, std::string const& what)
    {
        if (!holds && outcome.violation.empty())
            outcome.violation = what;
    }
    [[nodiscard]] bool broken() const noexcept { return !outcome.violation.empty(); }

    /** Fair locks, readers and writers, a semaphore, one whose capacity changes, or all of them. */
    [[nodiscard]] Asked draw_share()
    {
        auto const style = style_ == 4 ? random_.below(3) : style_;
        if (style == 0)
            return {1, 1};
        if (style == 1)
            return {random_.chance(7000) ? 1 : backend::Share::all, backend::Share::all};
        auto const capacity = style == 2 ? 5 : 3 + random_.below(3) * 2;
        return {1 + random_.below(capacity), capacity};
    }
    [[nodiscard]] std::string new_owner() { return "host:1/0/" + std::to_string(random_.next()); }

    [[nodiscard]] redis::resp::Value call(redis::PlaceScript const& script, Words keys, Words values)
    {
        if (delays_)
            values.push_back(run_id_);
        return run(delays_ ? script.delayed : script.plain, std::move(keys), std::move(values));
    }
    [[nodiscard]] redis::resp::Value run(redis::Script const& script, Words keys, Words values)
    {
        auto reply = server_.run(script, std::move(keys), std::move(values));
        demand(!reply.is_error(), "a script fails: " + std::string(reply.as_string()));
        return reply;
    }
    [[nodiscard]] Words keys_for_one(std::string const& first = "") const
    {
        Words keys;
        if (!first.empty())
            keys.push_back(first);
        keys.emplace_back("{k}:watched");
        if (delays_)
            keys.emplace_back("marker");
        keys.emplace_back(key);
        return keys;
    }
    [[nodiscard]] redis::PlaceAnswer
    claim(std::string const& owner, Asked share, std::int64_t ttl, bool waits, std::string const& store)
    {
        reply_ = call(
            redis::place_scripts::claim(), keys_for_one("fence"),
            {owner, std::to_string(ttl), std::to_string(share.first), std::to_string(share.second), store,
             waits ? "1" : "", "+"});
        auto const answer = redis::read_place_answer(reply_);
        demand(answer.has_value(), "a claim is answered with something that is not understood");
        return answer.value_or(redis::PlaceAnswer{});
    }
    [[nodiscard]] std::string renew(Words const& owners, std::int64_t ttl)
    {
        Words values{std::to_string(ttl)};
        values.insert(values.end(), owners.begin(), owners.end());
        Words keys(owners.size(), std::string(key));
        if (delays_)
            keys.insert(keys.begin(), "marker");
        reply_ =
            run(delays_ ? redis::place_scripts::renew().delayed : redis::place_scripts::renew().plain, std::move(keys),
                std::move(values));
        return std::string(reply_.as_string());
    }
    [[nodiscard]] std::string leave(Words const& owners)
    {
        Words keys;
        Words values{"+"};
        if (delays_)
            keys.emplace_back("marker");
        for (auto const& owner : owners) {
            keys.emplace_back("{k}:watched");
            keys.emplace_back(key);
            values.push_back(owner);
        }
        reply_ = call(redis::place_scripts::leave(), std::move(keys), std::move(values));
        auto const left = redis::read_left_places(reply_, owners.size());
        demand(left.has_value(), "a release is answered with something that is not understood");
        return left ? std::string(left->flags) : std::string();
    }
    [[nodiscard]] std::optional<std::int64_t> replace(std::string const& owner, std::string const& by, std::string how)
    {
        reply_ = call(redis::place_scripts::replace(), keys_for_one(), {"+", owner, by, std::move(how)});
        auto const replaced = redis::read_replaced_owner(reply_);
        demand(replaced.has_value(), "a replacement is answered with something that is not understood");
        if (!replaced || !replaced->remaining)
            return std::nullopt;
        return replaced->remaining->count();
    }
    [[nodiscard]] std::map<std::string, std::string> fields()
    {
        auto const reply = server_.command({"HGETALL", std::string(key)});
        std::map<std::string, std::string> all;
        for (auto parts = reply.elements(); parts.size() >= 2; parts = parts.subspan(2))
            all.emplace(parts[0].as_string(), parts[1].as_string());
        return all;
    }
    void pass(std::int64_t milliseconds)
    {
        clock_ += milliseconds;
        server_.set_clock(clock_);
    }

    PlaceServer& server_;
    Random random_;
    std::uint32_t style_;
    bool delays_;
    std::string run_id_ = std::string(40, 'a');
    std::int64_t clock_ = first_clock;
    /// of the last script
    redis::resp::Value reply_;
};

} // namespace tenure::simulation
