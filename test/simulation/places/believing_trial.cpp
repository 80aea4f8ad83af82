// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A trial in which owners believe their own clocks, while the server's clock is set back or a
// person deletes fields.
#include "script_trial.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tenure::simulation
{

namespace
{

/** What owners believe by their own clocks. */
class BelievingTrial final : public ScriptTrial
{
public:
    BelievingTrial(PlaceServer& server, std::uint64_t seed, std::uint64_t purpose)
        : ScriptTrial(server, seed, purpose, false)
    {
    }

    void set_back(unsigned operations)
    {
        std::int64_t offset = 0;
        auto const settle = [&] {
            clock_ = first_clock + true_ + offset;
            server_.set_clock(clock_);
        };
        for (unsigned done = 0; done < operations && !broken(); ++done) {
            true_ += random_.between(0, 20'000);
            if (random_.chance(300))
                offset -= random_.between(1, 400'000);
            settle();
            one();
            check();
        }
        // a large step, and all owners are dead
        offset -= 100'000'000;
        redis::PlaceAnswer answer;
        for (int asked = 0; asked < 5; ++asked) {
            settle();
            answer = claim("host:1/0/z", {1, 1}, short_ttl, true, "s0");
            true_ += short_ttl / 3;
        }
        demand(answer.kind == redis::PlaceAnswer::Kind::held, "S23: dead places stay after a step of the clock");
    }

    void delete_fields(unsigned operations)
    {
        in_order_ = random_.chance(5000);
        for (unsigned done = 0; done < operations && !broken(); ++done) {
            true_ += random_.between(0, 3000);
            clock_ = first_clock + true_;
            server_.set_clock(clock_);
            if (random_.chance(1500))
                delete_one();
            else
                one();
            check();
        }
        pass(2 * short_ttl + 1);
        demand(
            claim("host:1/0/last", {1, 1}, short_ttl, true, "s0").kind == redis::PlaceAnswer::Kind::held,
            "S25: deleted fields have an effect for longer than two ttls");
    }

private:
    struct Belief {
        Asked share;
        std::int64_t ends;
    };

    void one()
    {
        auto const what = random_.below(17);
        if (what < 4) {
            auto const owner = new_owner();
            waiting_[owner] = draw_share();
            ask(owner);
        } else if (what < 8 && !waiting_.empty()) {
            ask(std::next(waiting_.begin(), random_.below(static_cast<std::uint32_t>(waiting_.size())))->first);
        } else if (!belief_.empty()) {
            auto const one = std::next(belief_.begin(), random_.below(static_cast<std::uint32_t>(belief_.size())));
            if (what < 13) {
                if (renew({one->first}, short_ttl) == "1")
                    one->second.ends = true_ + short_ttl;
                else
                    belief_.erase(one);
            } else if (what < 16) {
                (void)leave({one->first});
                belief_.erase(one);
            }
        }
    }
    void ask(std::string const& owner)
    {
        auto const share = waiting_.at(owner);
        auto const answer = claim(owner, share, short_ttl, true, "s0");
        if (answer.kind != redis::PlaceAnswer::Kind::held)
            return;
        for (auto const& [earlier, number] : granted_)
            demand(
                !in_order_ || answer.number > number || !exclude(earlier, share),
                "S20: a later grant has a smaller number than one that it excludes");
        granted_.emplace_back(share, answer.number);
        belief_[owner] = {share, true_ + short_ttl};
        waiting_.erase(owner);
        ++outcome.counts["grants"];
    }
    [[nodiscard]] static bool exclude(Asked one, Asked other)
    {
        return std::uint64_t{one.first} + other.first > std::min(one.second, other.second);
    }
    void delete_one()
    {
        auto all = fields();
        all.erase("mode");
        if (in_order_)
            std::erase_if(all, [](auto const& field) { return field.first == "head" || field.first.starts_with("~"); });
        if (all.empty())
            return;
        auto const field = std::next(all.begin(), random_.below(static_cast<std::uint32_t>(all.size())))->first;
        server_.command({"HDEL", std::string(key), field});
        belief_.erase(field);
        // a waiter whose place is gone asks again, unless its process is gone too
        if (random_.chance(5000))
            waiting_.erase(field);
        ++outcome.counts["deleted"];
    }
    void check()
    {
        std::uint64_t sum = 0;
        std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
        for (auto const& [owner, belief] : belief_) {
            if (belief.ends <= true_)
                continue;
            sum += belief.share.first;
            least = std::min<std::uint64_t>(least, belief.share.second);
        }
        demand(sum <= least, "S19: too many believe that they hold");
        (void)server_.told();
    }

    /// since the beginning, on the clocks of the owners
    std::int64_t true_ = 0;
    std::map<std::string, Belief> belief_;
    std::map<std::string, Asked> waiting_;
    /// places hold in the order of their numbers: no head and no position of a waiter is deleted
    bool in_order_ = true;
    /// with their numbers
    std::vector<std::pair<Asked, std::uint64_t>> granted_;
};

} // namespace

TrialOutcome try_clock_set_back(PlaceServer& server, std::uint64_t seed, unsigned operations)
{
    BelievingTrial trial(server, seed, 62);
    trial.set_back(operations);
    return std::move(trial.outcome);
}

TrialOutcome try_deleted_fields(PlaceServer& server, std::uint64_t seed, unsigned operations)
{
    BelievingTrial trial(server, seed, 63);
    trial.delete_fields(operations);
    return std::move(trial.outcome);
}

} // namespace tenure::simulation
