// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What happens in a trial beside a model.
#include "exact_trial.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

namespace tenure::simulation
{

void ExactTrial::run(unsigned operations)
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

void ExactTrial::one()
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

std::string ExactTrial::any_owner()
{
    if (shares_.empty())
        return "host:1/0/no-place";
    return std::next(shares_.begin(), random_.below(static_cast<std::uint32_t>(shares_.size())))->first;
}

Words ExactTrial::some_owners()
{
    std::set<std::string> owners;
    for (auto left = 1 + random_.below(3); left > 0; --left)
        owners.insert(any_owner());
    return {owners.begin(), owners.end()};
}

bool ExactTrial::closes(std::int64_t ttl)
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

void ExactTrial::claim_first(bool waits)
{
    auto const owner = new_owner();
    shares_[owner] = draw_share();
    (void)ask(owner, shares_[owner], a_ttl(), waits, "s" + std::to_string(random_.below(4)));
}

void ExactTrial::claim_again()
{
    if (auto const owner = any_owner(); shares_.contains(owner))
        (void)ask(owner, shares_[owner], a_ttl(), true, "s0");
}

bool ExactTrial::ask(std::string const& owner, Asked share, std::int64_t ttl, bool waits, std::string const& store)
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
        demand(answer.number <= own->number, "S24: an owner has a second place");
        demand(answer.number == own->number, "S21: a claim is answered with another number than that of its place");
    }
    auto const kind = closed ? Kind::closed : own != nullptr && own->holds ? Kind::held : Kind::busy;
    demand(answer.kind == kind, "S19: a claim is granted, or refused, against the rule");
    if (kind == Kind::closed)
        demand(answer.until && answer.until->count() == opens_ - clock_, "a closed claim does not tell until when");
    outcome.counts["grants"] += kind == Kind::held ? 1 : 0;
    return kind == Kind::held;
}

void ExactTrial::renew_some()
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

void ExactTrial::leave_some()
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

void ExactTrial::evict()
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

void ExactTrial::detach()
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

void ExactTrial::lose_counter()
{
    if (random_.chance(5000))
        server_.command({"DEL", "fence"});
    else
        server_.command({"SET", "fence", "4503599627370496"});
}

void ExactTrial::fail_over()
{
    if (delays_)
        run_id_ = std::string(40, static_cast<char>('a' + random_.below(6)));
}

void ExactTrial::meet_another_kind()
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
    auto const ttl = server_.command({"PTTL", name}).as_integer();
    auto const before = fields();
    auto const answer = claim("host:1/0/x", {1, 1}, short_ttl, true, "s0");
    demand(answer.kind == redis::PlaceAnswer::Kind::other, "S26: a key of another kind is taken");
    demand(answer.until.has_value() == (kind == 0), "the ttl of another kind is not told");
    demand(renew({"host:1/0/x"}, short_ttl) == "0" && leave({"uuid:1"}) == "0", "S26: a key of another kind is ours");
    // a real server's clock goes on meanwhile
    auto const left = server_.command({"PTTL", name}).as_integer();
    demand(
        left <= ttl && left + 2000 >= ttl && (left < 0) == (ttl < 0) && (kind == 0 || fields() == before),
        "S26: a key of another kind is changed");
    server_.command({"DEL", name});
    if (delays_)
        longest_ = std::max(longest_, short_ttl);
}

TrialOutcome try_places(PlaceServer& server, std::uint64_t seed, unsigned operations)
{
    ExactTrial trial(server, seed);
    trial.run(operations);
    return std::move(trial.outcome);
}

} // namespace tenure::simulation
