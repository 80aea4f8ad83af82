// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// MasterVote: the reports of sentinels, and the verdict.
#include "master_vote.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <span>
#include <utility>

namespace tenure::redis
{

namespace
{

/// limit of sentinels named in a text
constexpr std::size_t named_at_most = 3;

} // namespace

MasterVote::MasterVote(Rules rules)
    : rules_(std::move(rules))
{
}

std::size_t MasterVote::ask(ServerAddress sentinel)
{
    asked_.push_back({std::move(sentinel), State::asked, {}, {}});
    return asked_.size() - 1;
}

void MasterVote::reported(std::size_t sentinel, MasterReport report, Instant now)
{
    auto& asked = asked_.at(sentinel);
    if (asked.state != State::asked)
        return;
    bool const is_again = !report.id.empty() && std::ranges::any_of(asked_, [&report](Asked const& other) {
        return other.state == State::reported && other.report.id == report.id;
    });
    asked.state = is_again ? State::twice : State::reported;
    asked.report = std::move(report);
    first_answer_ = first_answer_.value_or(now);
}

void MasterVote::knows_no_such(std::size_t sentinel, Instant now)
{
    auto& asked = asked_.at(sentinel);
    if (asked.state != State::asked)
        return;
    asked.state = State::unknown_name;
    first_answer_ = first_answer_.value_or(now);
}

void MasterVote::failed(std::size_t sentinel, StreamError error)
{
    auto& asked = asked_.at(sentinel);
    if (asked.state != State::asked)
        return;
    asked.state = State::failed;
    asked.error = std::move(error);
}

MasterVote::Verdict MasterVote::verdict(Instant now) const
{
    if (has_most() || count(State::asked) == 0 || now >= decides_at())
        return judge();
    return {};
}

Instant MasterVote::decides_at() const noexcept
{
    return first_answer_ ? std::min(rules_.limit, *first_answer_ + rules_.grace) : rules_.limit;
}

bool MasterVote::needs_more() const noexcept
{
    auto const possible = count(State::asked) + count(State::reported) + count(State::unknown_name);
    return 2 * possible <= sentinels();
}

bool MasterVote::knows(SentinelEntry const& sentinel, std::size_t count) const noexcept
{
    std::span const asked(asked_);
    return std::ranges::any_of(asked.first(std::min(count, asked.size())), [&sentinel](Asked const& asked) {
        return asked.address == sentinel.address || (!sentinel.id.empty() && asked.report.id == sentinel.id);
    });
}

std::vector<ServerAddress> MasterVote::answered() const
{
    std::vector<ServerAddress> addresses;
    for (auto const& asked : asked_)
        if (asked.state == State::reported)
            addresses.push_back(asked.address);
    return addresses;
}

std::vector<ServerAddress> MasterVote::silent(Instant now) const
{
    std::vector<ServerAddress> addresses;
    for (auto const& asked : asked_)
        if (asked.state == State::failed || (asked.state == State::asked && now >= decides_at()))
            addresses.push_back(asked.address);
    return addresses;
}

std::size_t MasterVote::count(State state) const noexcept
{
    return static_cast<std::size_t>(std::ranges::count(asked_, state, &Asked::state));
}

bool MasterVote::has_most() const noexcept
{
    return 2 * (count(State::reported) + count(State::unknown_name)) > sentinels();
}

std::size_t MasterVote::sentinels() const noexcept
{
    // A sentinel that has forgotten the others (SENTINEL RESET, a restart) must not count as the only one.
    std::size_t most = rules_.configured;
    for (auto const& asked : asked_)
        if (asked.state == State::reported)
            most = std::max(most, asked.report.sentinels);
    return most;
}

MasterVote::Votes MasterVote::votes_for(MasterReport const& candidate) const noexcept
{
    Votes votes;
    for (auto const& asked : asked_) {
        if (asked.state != State::reported || asked.report.config_epoch != candidate.config_epoch ||
            asked.report.address != candidate.address)
            continue;
        ++votes.all;
        votes.down += asked.report.subjectively_down ? 1U : 0U;
        votes.is_objective = votes.is_objective || asked.report.objectively_down;
    }
    return votes;
}

MasterVote::Verdict MasterVote::judge() const
{
    // the newest epoch, and within it the address with the most votes
    MasterReport const* best = nullptr;
    Votes votes;
    for (auto const& asked : asked_) {
        if (asked.state != State::reported)
            continue;
        auto const of_this = votes_for(asked.report);
        if (best == nullptr || asked.report.config_epoch > best->config_epoch ||
            (asked.report.config_epoch == best->config_epoch && of_this.all > votes.all)) {
            best = &asked.report;
            votes = of_this;
        }
    }
    if (best == nullptr)
        return nobody_reported();
    if (best->config_epoch < rules_.known_epoch && !has_most())
        return StreamError{
            make_error_code(errc::store_unavailable),
            "only " + std::to_string(count(State::reported)) + " of " + std::to_string(sentinels()) +
                " sentinels answered, and they name a master of '" + rules_.master_name + "', " +
                to_string(best->address) + ", that was replaced since",
            false};
    if (votes.is_objective || 2 * votes.down > votes.all)
        return StreamError{
            make_error_code(errc::store_unavailable),
            "the sentinels call the master '" + rules_.master_name + "' at " + to_string(best->address) + " down (" +
                (votes.is_objective ? "o_down" : "s_down") + ") and have not put another in its place yet",
            false};
    return Found{best->address, best->config_epoch, count(State::reported), sentinels()};
}

StreamError MasterVote::nobody_reported() const
{
    if (count(State::unknown_name) == 0)
        return nobody_answered();
    std::string names;
    std::size_t named = 0;
    for (auto const& asked : asked_)
        if (asked.state == State::unknown_name && named++ < named_at_most)
            names += (names.empty() ? "" : ", ") + to_string(asked.address);
    if (named > named_at_most)
        names += " and " + std::to_string(named - named_at_most) + " more";
    return {
        make_error_code(errc::store_refused),
        "no sentinel knows a master named '" + rules_.master_name + "' (asked: " + names +
            "): check the name, SENTINEL MASTERS lists those that there are",
        false};
}

StreamError MasterVote::nobody_answered() const
{
    // a refusal that a person must fix is more useful than an unavailable sentinel
    std::vector<Asked const*> in_order;
    in_order.reserve(asked_.size());
    for (auto const& asked : asked_)
        in_order.push_back(&asked);
    auto const others = std::ranges::stable_partition(
        in_order, [](Asked const* asked) { return asked->state == State::failed && asked->error.fatal; });

    StreamError error{make_error_code(errc::store_unavailable), "no sentinel tells where the master is", false};
    // an unavailable sentinel may return soon, and it alone suffices
    if (others.empty() && !in_order.empty()) {
        error.code = in_order.front()->error.code;
        error.fatal = true;
    }
    for (std::size_t i = 0; i < std::min(in_order.size(), named_at_most); ++i) {
        auto const& asked = *in_order[i];
        error.detail += (i == 0 ? ": " : "; ") + to_string(asked.address) + ": " +
                        (asked.state == State::failed ? asked.error.text() : "no answer in time");
    }
    if (in_order.size() > named_at_most)
        error.detail += "; and " + std::to_string(in_order.size() - named_at_most) + " more";
    return error;
}

} // namespace tenure::redis
