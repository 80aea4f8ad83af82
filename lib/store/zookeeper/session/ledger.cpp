// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "ledger.hpp"

#include "runtime/recycling_allocator.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tenure::zookeeper
{

using namespace std::chrono_literals;

namespace
{

/// between two attempts to remove a node that has lapsed
constexpr auto retry = 250ms;

} // namespace

bool Holding::made(Answer const& read) const
{
    return czxid != 0 ? read.node.czxid == czxid : owned(read);
}

bool Holding::owned(Answer const& read) const
{
    return read.node.ephemeral_owner == session_id && (czxid == 0 || read.node.czxid == czxid) &&
           decode(read.data).owner == owner;
}

Answer const* Sighting::failure() const
{
    if (!is_answered(write.code))
        return &write;
    if (node.code != ZOK && node.code != ZNONODE)
        return &node;
    // who sees no node needs no generation; and without one nobody of this library has claimed the key
    if (node.code == ZOK && generation.code != ZOK && generation.code != ZNONODE)
        return &generation;
    return nullptr;
}

std::optional<std::int32_t> Sighting::generation_version() const
{
    // -1 would mean any; the next claim ends that
    return generation.code != ZOK || generation.node.version == -1 ? std::nullopt
                                                                   : std::optional(generation.node.version);
}

void look_at(
    SessionPtr const& session, SharedText const& path, SharedText const& generation, bool after_write,
    SightingHandler handler)
{
    auto const seen = std::make_shared<Sighting>();
    if (after_write)
        session->write([seen](Answer const& answer) { seen->write = answer; });
    session->ask({Question::Kind::get, generation}, [seen](Answer const& answer) {
        seen->generation = answer;
        seen->generation.of_generation = answer.code != ZOK;
    });
    session->ask({Question::Kind::get, path}, [seen, handler = std::move(handler)](Answer const& answer) mutable {
        seen->node = answer;
        handler(*seen);
    });
}

HoldingPtr Ledger::add(
    SessionPtr session, KeyRangePtr range, std::uint32_t index, SharedText path, SharedText generation,
    std::string owner)
{
    auto holding = make_recycled<Holding>();
    holding->use = session->use();
    holding->session_id = session->id();
    holding->deadline = runtime_->now() + session->timeout();
    holding->session = std::move(session);
    holding->range = std::move(range);
    holding->index = index;
    holding->path = std::move(path);
    holding->generation = std::move(generation);
    holding->owner = owner;
    by_owner_.emplace(std::move(owner), holding);
    arm(holding->deadline);
    return holding;
}

void Ledger::begin_creating(Holding& holding)
{
    if (holding.under_way++ == 0)
        ++creating_[holding.path.text()];
}

void Ledger::end_creating(Holding& holding)
{
    if (--holding.under_way > 0)
        return;
    if (auto const found = creating_.find(holding.path.text()); found != creating_.end() && --found->second == 0)
        creating_.erase(found);
}

void Ledger::remove(Holding& holding)
{
    holding.state = Holding::State::gone;
    holding.use = nullptr;
    auto const [first, last] = by_owner_.equal_range(holding.owner);
    for (auto entry = first; entry != last; ++entry)
        if (entry->second.get() == &holding) {
            by_owner_.erase(entry);
            return;
        }
}

void Ledger::extend(Holding& holding, Instant deadline)
{
    holding.deadline = std::max(holding.deadline, deadline);
    ++holding.extensions;
}

void Ledger::delete_node(
    HoldingPtr const& holding, Condition const& condition, AnswerHandler handler, std::function<void()> again)
{
    auto& of_path = deleting_[holding->path.text()];
    if (auto const under_way = of_path.lock()) {
        under_way->push_back(std::move(again));
        return;
    }
    auto const waiting = std::make_shared<std::vector<std::function<void()>>>();
    of_path = waiting;
    holding->session->ask(
        {Question::Kind::remove,
         holding->path,
         {},
         condition.version,
         false,
         holding->generation,
         condition.generation_version},
        [self = shared_from_this(), holding, waiting, handler = std::move(handler)](Answer const& removed) mutable {
            self->deleting_.erase(holding->path.text());
            if (!is_answered(removed.code))
                holding->removal_unknown = true;
            if (removed.code == ZOK || (removed.code == ZNONODE && !removed.of_generation))
                self->remove(*holding);
            handler(removed);
            for (auto const& again : std::exchange(*waiting, {}))
                again();
        });
}

void Ledger::session_over(std::int64_t session_id)
{
    if (session_id == 0)
        return;
    std::erase_if(by_owner_, [session_id](auto const& entry) {
        auto& holding = *entry.second;
        if (holding.session_id != session_id)
            return false;
        holding.state = Holding::State::gone;
        holding.use = nullptr;
        return true;
    });
}

HoldingPtr Ledger::holder_of(std::string const& owner, std::string const& path, std::int64_t czxid) const
{
    auto const [first, last] = by_owner_.equal_range(owner);
    for (auto entry = first; entry != last; ++entry)
        if (auto const& holding = entry->second;
            holding->state == Holding::State::held && holding->path == path && holding->czxid == czxid)
            return holding;
    return nullptr;
}

HoldingPtr Ledger::of(Claim const& claim) const
{
    if (claim.handle != nullptr) {
        auto holding = std::static_pointer_cast<Holding>(claim.handle);
        return holding->state == Holding::State::gone ? nullptr : holding;
    }
    for (auto const& holding : of(claim.owner, *claim.range))
        if (holding->index == claim.index)
            return holding;
    return nullptr;
}

std::vector<HoldingPtr> Ledger::of(std::string const& owner, KeyRange const& range) const
{
    std::vector<HoldingPtr> found;
    auto const [first, last] = by_owner_.equal_range(owner);
    for (auto entry = first; entry != last; ++entry)
        if (*entry->second->range == range)
            found.push_back(entry->second);
    return found;
}

bool Ledger::any_of(std::int64_t session_id) const noexcept
{
    return std::ranges::any_of(
        by_owner_, [session_id](auto const& entry) { return entry.second->session_id == session_id; });
}

void Ledger::close() noexcept
{
    closed_ = true;
    timer_.cancel();
    by_owner_.clear();
    creating_.clear();
    deleting_.clear();
}

void Ledger::arm(Instant when)
{
    if (closed_ || (timer_.pending() && armed_for_ <= when))
        return;
    armed_for_ = when;
    timer_.at(when, weak_from_this(), &Ledger::look);
}

void Ledger::look()
{
    // deadlines move only away, so that a look too many finds nothing to do
    auto const now = runtime_->now();
    auto next = Instant::max();
    std::vector<HoldingPtr> due;
    for (auto const& [owner, holding] : by_owner_) {
        if (holding->deadline <= now) {
            holding->deadline = now + retry;
            due.push_back(holding);
        }
        next = std::min(next, holding->deadline);
    }
    for (auto const& holding : due)
        let_lapse(holding);
    if (next != Instant::max())
        arm(next);
}

bool Ledger::is_claimed(Holding const& holding) const
{
    auto const [first, last] = by_owner_.equal_range(holding.owner);
    return std::any_of(first, last, [&holding](auto const& entry) {
        return entry.second->under_way > 0 && entry.second->path == holding.path;
    });
}

void Ledger::let_lapse(HoldingPtr const& holding)
{
    if (!holding->session->connected() || is_claimed(*holding))
        return;
    // after a write, because what was asked over another connection may have come to this server late
    look_at(
        holding->session, holding->path, holding->generation, true,
        [self = shared_from_this(), holding, extensions = holding->extensions](Sighting const& seen) {
            if (holding->state == Holding::State::gone || seen.failure() != nullptr)
                return;
            // A claim or a renewal that was asked for before the look has been answered before it. What is asked for
            // from now on comes to the server after the deletion.
            if (holding->extensions != extensions || self->is_claimed(*holding))
                return;
            auto const& read = seen.node;
            // a claim that was asked for twice may have left two of them for one node: the other one goes on
            auto const other =
                read.code == ZOK ? self->holder_of(holding->owner, holding->path, read.node.czxid) : nullptr;
            if (read.code == ZNONODE || !holding->made(read) || (other != nullptr && other != holding)) {
                self->remove(*holding);
                return;
            }
            // what fails, or comes in the way of another removal, is tried again
            self->delete_node(holding, {seen.generation_version(), read.node.version}, [](Answer const&) {}, [] {});
        });
}

} // namespace tenure::zookeeper
