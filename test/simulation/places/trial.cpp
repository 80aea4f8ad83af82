// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Random operations on the places of one key.
#include "trial.hpp"

#include "model.hpp"

#include <store/redis/shares/replies.hpp>
#include <store/redis/shares/scripts.hpp>

#include <tenure/backend/share.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

namespace tenure::simulation
{

namespace
{

using redis::resp::Value;
namespace scripts = redis::place_scripts;
using Asked = std::pair<std::uint32_t, std::uint32_t>;

constexpr std::string_view key = "k";
constexpr std::int64_t first_clock = 1'000'000'000'000;
constexpr std::int64_t short_ttl = 60'000;
constexpr std::int64_t long_ttl = 90'000;

/** The parts that all trials share. */
class Trial
{
public:
    Trial(PlaceServer& server, std::uint64_t seed, std::uint64_t purpose, bool delays)
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
    ~Trial() = default;

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

    [[nodiscard]] Value call(redis::PlaceScript const& script, Words keys, Words values)
    {
        if (delays_)
            values.push_back(run_id_);
        return run(delays_ ? script.delayed : script.plain, std::move(keys), std::move(values));
    }
    [[nodiscard]] Value run(redis::Script const& script, Words keys, Words values)
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
            scripts::claim(), keys_for_one("fence"),
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
        reply_ = run(delays_ ? scripts::renew().delayed : scripts::renew().plain, std::move(keys), std::move(values));
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
        reply_ = call(scripts::leave(), std::move(keys), std::move(values));
        auto const left = redis::read_left_places(reply_, owners.size());
        demand(left.has_value(), "a release is answered with something that is not understood");
        return left ? std::string(left->flags) : std::string();
    }
    [[nodiscard]] std::optional<std::int64_t> replace(std::string const& owner, std::string const& by, std::string how)
    {
        reply_ = call(scripts::replace(), keys_for_one(), {"+", owner, by, std::move(how)});
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
    Value reply_;
};

std::vector<double> numbers_in(std::string_view text)
{
    std::vector<double> numbers;
    while (!text.empty()) {
        auto const word = text.substr(0, text.find(' '));
        double number = -1;
        std::from_chars(word.data(), word.data() + word.size(), number);
        numbers.push_back(number);
        text.remove_prefix(std::min(word.size() + 1, text.size()));
    }
    return numbers;
}

class ExactTrial final : public Trial
{
public:
    ExactTrial(PlaceServer& server, std::uint64_t seed)
        : Trial(server, seed, 61, seed % 3 == 0)
    {
    }

    void run(unsigned operations)
    {
        if (delays_) {
            // the first claim closes the others for its ttl
            (void)ask("host:1/0/first", {1, 1}, short_ttl, true, "s9");
            shares_.clear();
        }
        for (unsigned done = 0; done < operations && !broken(); ++done) {
            if (random_.chance(3500))
                pass(random_.between(0, 30'000));
            if (random_.chance(100))
                pass(200'000);
            one();
            told();
            look();
        }
    }

private:
    void one()
    {
        auto const what = random_.below(240);
        if (what < 50)
            claim_first(true);
        else if (what < 70)
            claim_first(false);
        else if (what < 110)
            claim_again();
        else if (what < 160)
            renew_some();
        else if (what < 210)
            leave_some();
        else if (what < 220)
            evict();
        else if (what < 227)
            detach();
        else if (what < 234)
            shares_.erase(any_owner());
        else if (what < 236)
            lose_counter();
        else if (what < 238)
            fail_over();
        else
            meet_another_kind();
    }

    [[nodiscard]] std::string any_owner()
    {
        if (shares_.empty())
            return "host:1/0/nobody";
        return std::next(shares_.begin(), random_.below(static_cast<std::uint32_t>(shares_.size())))->first;
    }
    [[nodiscard]] Words some_owners()
    {
        std::set<std::string> owners;
        for (auto left = 1 + random_.below(3); left > 0; --left)
            owners.insert(any_owner());
        return {owners.begin(), owners.end()};
    }
    [[nodiscard]] std::int64_t a_ttl() { return random_.chance(5000) ? short_ttl : long_ttl; }
    /** As the scripts of claims see it, which may note that the server's process is new. */
    [[nodiscard]] bool closes(std::int64_t ttl)
    {
        if (!delays_)
            return false;
        bool const is_longer = ttl > longest_;
        if (known_process_ != run_id_)
            opens_ = clock_ + std::max(longest_, ttl);
        else if (is_longer && opens_ > clock_)
            opens_ += ttl - longest_;
        known_process_ = run_id_;
        longest_ = std::max(longest_, ttl);
        return opens_ > clock_;
    }
    [[nodiscard]] bool is_closed() const { return delays_ && (known_process_ != run_id_ || opens_ > clock_); }

    void claim_first(bool waits)
    {
        auto const owner = new_owner();
        shares_[owner] = draw_share();
        (void)ask(owner, shares_[owner], a_ttl(), waits, "s" + std::to_string(random_.below(4)));
    }
    void claim_again()
    {
        if (auto const owner = any_owner(); shares_.contains(owner))
            (void)ask(owner, shares_[owner], a_ttl(), true, "s0");
    }

    [[nodiscard]] bool
    ask(std::string const& owner, Asked share, std::int64_t ttl, bool waits, std::string const& store)
    {
        using Kind = redis::PlaceAnswer::Kind;
        bool const closed = closes(ttl);
        if (!closed)
            expect(model_.settle(clock_, false));
        auto* own = model_.find(owner);
        if (own != nullptr && own->ends <= clock_)
            own = nullptr;
        bool const fits = model_.fits(share.first, share.second);
        bool const enters = own == nullptr && !closed && (fits || waits);
        auto const answer = claim(owner, share, ttl, waits, store);
        if (enters) {
            demand(
                std::ranges::all_of(model_.places, [&](auto const& place) { return place.number < answer.number; }),
                "S20: a number is not greater than those of the places ahead");
            model_.places.push_back({owner, answer.number, 0, 0, share.first, share.second, store, fits});
            own = &model_.places.back();
        }
        outcome.counts["claims"] += 1;
        if (own == nullptr) {
            demand(answer.number == 0, "S22: a claim got a place that it may not have");
        } else {
            own->ends = clock_ + ttl;
            own->ttl = ttl;
            std::erase(expected_, own->store + ":" + std::to_string(own->number));
            demand(answer.number == own->number, "S21: a claim is answered with another number than that of its place");
        }
        auto const kind = closed ? Kind::closed : own != nullptr && own->holds ? Kind::held : Kind::busy;
        demand(answer.kind == kind, "S19: a claim is granted, or refused, against the rule");
        if (kind == Kind::closed)
            demand(answer.until && answer.until->count() == opens_ - clock_, "a closed claim does not tell until when");
        outcome.counts["grants"] += kind == Kind::held ? 1 : 0;
        return kind == Kind::held;
    }

    void renew_some()
    {
        auto const owners = some_owners();
        auto const ttl = a_ttl();
        std::string flags;
        for (auto const& owner : owners) {
            auto* const place = model_.find(owner);
            bool const lives = place != nullptr && place->holds && place->ends > clock_;
            flags += lives ? '1' : '0';
            if (lives)
                place->ends = clock_ + ttl;
            if (lives)
                place->ttl = ttl;
        }
        if (delays_ && ttl > longest_)
            longest_ = ttl;
        demand(renew(owners, ttl) == flags, "S21: a renewal is accepted, or refused, against the rule");
    }

    void leave_some()
    {
        auto const owners = some_owners();
        std::string flags;
        for (auto const& owner : owners) {
            auto* const place = model_.find(owner);
            flags += place != nullptr && place->ends > clock_ ? '1' : '0';
            shares_.erase(owner);
            if (place == nullptr)
                continue;
            model_.places.erase(model_.places.begin() + (place - model_.places.data()));
            expect(model_.settle(clock_, is_closed()));
        }
        demand(leave(owners) == flags, "S7: a release is accepted, or refused, against the rule");
    }

    void evict()
    {
        auto const owner = any_owner();
        auto* place = model_.find(owner);
        std::optional<std::int64_t> left;
        if (place != nullptr) {
            expect(model_.settle(clock_, is_closed()));
            place = model_.find(owner);
        }
        if (place != nullptr && place->holds) {
            left = place->ends - clock_;
            place->owner = "evicted/ops/" + std::to_string(place->number);
        } else if (place != nullptr) {
            left = 0;
            model_.places.erase(model_.places.begin() + (place - model_.places.data()));
            expect(model_.settle(clock_, is_closed()));
        }
        demand(replace(owner, "evicted/ops", "evict") == left, "an eviction is answered against the rule");
    }

    void detach()
    {
        auto const owner = any_owner();
        auto const how = random_.chance(5000) ? std::string() : std::to_string(short_ttl);
        auto const kept = "kept/" + owner;
        std::optional<std::int64_t> left;
        if (model_.find(owner) != nullptr || model_.find(kept) != nullptr)
            expect(model_.settle(clock_, is_closed()));
        auto* const place = model_.find(owner);
        if (auto const* const already = model_.find(kept)) {
            left = already->ends - clock_;
        } else if (place != nullptr && place->holds) {
            if (!how.empty())
                place->ends = clock_ + short_ttl;
            if (!how.empty())
                place->ttl = short_ttl;
            left = place->ends - clock_;
            place->owner = kept;
        }
        demand(replace(owner, kept, how) == left, "a detachment is answered against the rule");
        if (left)
            demand(replace(owner, kept, how) == left, "a repeated detachment is answered otherwise");
    }

    void lose_counter()
    {
        if (random_.chance(5000))
            server_.command({"DEL", "fence"});
        else
            server_.command({"SET", "fence", "4503599627370496"});
    }

    void fail_over()
    {
        if (delays_)
            run_id_ = std::string(40, static_cast<char>('a' + random_.below(6)));
    }

    /** Another program's key: nothing of it is touched (S26). */
    void meet_another_kind()
    {
        if (!model_.places.empty() || is_closed())
            return;
        std::string const name(key);
        server_.command({"DEL", name});
        auto const kind = random_.below(3);
        if (kind == 0)
            server_.command({"SET", name, "x", "PX", "60000"});
        else if (kind == 1)
            server_.command({"HSET", name, "uuid:1", "1"});
        else
            server_.command({"HSET", name, "mode", "read", "uuid:1", "1", "uuid:2", "1"});
        auto const ttl = server_.command({"PTTL", name});
        auto const before = fields();
        auto const answer = claim("host:1/0/x", {1, 1}, short_ttl, true, "s0");
        demand(answer.kind == redis::PlaceAnswer::Kind::other, "S26: a key of another kind is taken");
        demand(answer.until.has_value() == (kind == 0), "the ttl of another kind is not told");
        demand(
            renew({"host:1/0/x"}, short_ttl) == "0" && leave({"uuid:1"}) == "0", "S26: a key of another kind is ours");
        demand(
            server_.command({"PTTL", name}) == ttl && (kind == 0 || fields() == before),
            "S26: a key of another kind is changed");
        server_.command({"DEL", name});
        if (delays_)
            longest_ = std::max(longest_, short_ttl);
    }

    void expect(Words const& news) { expected_.insert(expected_.end(), news.begin(), news.end()); }

    /** Each place that holds now, and whose store does not know it, was told. */
    void told()
    {
        Words heard;
        for (std::string_view rest : server_.told())
            while (!rest.empty()) {
                auto const word = rest.substr(0, rest.find(' '));
                heard.emplace_back(word);
                rest.remove_prefix(std::min(word.size() + 1, rest.size()));
            }
        std::ranges::sort(heard);
        std::ranges::sort(expected_);
        demand(heard == expected_, "a message names other places than those that hold since then");
        outcome.counts["told"] += heard.size();
        expected_.clear();
    }

    /** S25: the head says what the places say, and the hash has nothing else. */
    void look()
    {
        auto all = fields();
        if (all.empty()) {
            demand(
                std::ranges::all_of(model_.places, [&](auto const& place) { return place.ends <= clock_; }),
                "S21: all places are gone");
            return;
        }
        auto const head = numbers_in(all["head"]);
        demand(head.size() == 12 && all["mode"] == "line", "S25: the hash has no head");
        if (broken())
            return;
        double held = 0;
        double least = 9007199254740991;
        double waiting = 0;
        double first = head[11];
        std::size_t count = 0;
        std::int64_t last = 0;
        for (auto const& [owner, text] : all) {
            if (owner == "mode" || owner == "head" || owner.starts_with("~"))
                continue;
            auto const place = numbers_in(text);
            ++count;
            bool const holds = place[6] == 0;
            held += holds ? place[3] : 0;
            least = holds ? std::min(least, place[4]) : least;
            waiting += holds ? 0 : 1;
            if (!holds) {
                first = std::min(first, place[6]);
                auto const position = "~" + std::to_string(static_cast<std::int64_t>(place[6]));
                demand(all[position] == owner, "S25: a waiting place has no position");
            }
            demand(head[2] <= place[1], "S25: a place may lapse before it is due");
            demand(head[7] >= place[2], "S25: a ttl is longer than the longest");
            last = std::max(last, static_cast<std::int64_t>(place[1]));
            auto const* const known = model_.find(owner);
            demand(known != nullptr || place[1] <= static_cast<double>(clock_), "S23: a place is left over");
            if (known != nullptr)
                demand(known->holds == holds || is_closed() || lapsed_ahead(), "S19: a place holds against the rule");
        }
        bool const due = head[2] == 0;
        demand(head[0] == held && head[1] == least && head[3] == waiting, "S25: the sums are wrong");
        demand(
            head[8] == static_cast<double>(count) && (waiting == 0 || due || head[10] == first),
            "S25: the head is wrong");
        // a real server's clock goes on meanwhile
        demand(
            server_.command({"PTTL", std::string(key)}).as_integer() + 2000 >= last - clock_,
            "S21: the key ends too early");
    }
    /** No script has looked since then. */
    [[nodiscard]] bool lapsed_ahead() const
    {
        return std::ranges::any_of(model_.places, [this](auto const& place) { return place.ends <= clock_; });
    }

    PlaceModel model_;
    /// of the owners that still live
    std::map<std::string, Asked> shares_;
    Words expected_;
    std::string known_process_;
    std::int64_t longest_ = 0;
    std::int64_t opens_ = 0;
};

/** What owners believe by their own clocks. */
class BelievingTrial final : public Trial
{
public:
    BelievingTrial(PlaceServer& server, std::uint64_t seed, std::uint64_t purpose)
        : Trial(server, seed, purpose, false)
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
        if (claim(owner, share, short_ttl, true, "s0").kind != redis::PlaceAnswer::Kind::held)
            return;
        belief_[owner] = {share, true_ + short_ttl};
        waiting_.erase(owner);
        ++outcome.counts["grants"];
    }
    void delete_one()
    {
        auto all = fields();
        all.erase("mode");
        if (all.empty())
            return;
        auto const field = std::next(all.begin(), random_.below(static_cast<std::uint32_t>(all.size())))->first;
        server_.command({"HDEL", std::string(key), field});
        belief_.erase(field);
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
};

} // namespace

TrialOutcome try_places(PlaceServer& server, std::uint64_t seed, unsigned operations)
{
    ExactTrial trial(server, seed);
    trial.run(operations);
    return std::move(trial.outcome);
}

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
