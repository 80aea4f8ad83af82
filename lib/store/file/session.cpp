// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Session: opening, the state of keys, waking.
#include "session.hpp"

#include "lock_attempt.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace tenure::file
{

namespace
{

/** Keeps a holder whose store was closed while keys were held: the work that they cover may still run. */
void keep_until_over(std::shared_ptr<OwnHolder> holder, BootTime now)
{
    static std::mutex mutex;
    static auto* const kept = new std::vector<std::shared_ptr<OwnHolder>>;
    std::lock_guard const lock(mutex);
    std::erase_if(*kept, [now](auto const& one) { return one->last_end() <= now; });
    if (holder->last_end() > now)
        kept->push_back(std::move(holder));
}

} // namespace

Session::Session(
    std::shared_ptr<Runtime> runtime, Directory directory, MachineClock clock, std::shared_ptr<OwnHolder>&& holder)
    : runtime_(std::move(runtime))
    , directory_(std::move(directory))
    , clock_(clock)
    , holder_(std::move(holder))
{
}

std::variant<SessionPtr, Failure> Session::open(FileConfig const& config, std::shared_ptr<Runtime> runtime)
{
    auto clock = MachineClock::read();
    if (auto* const failure = std::get_if<Failure>(&clock))
        return std::move(*failure);
    auto directory = Directory::open(config);
    if (auto* const failure = std::get_if<Failure>(&directory))
        return std::move(*failure);
    auto& opened = std::get<Directory>(directory);
    opened.remove_earlier_boots();
    auto holder = OwnHolder::make(opened, *runtime);
    if (auto* const failure = std::get_if<Failure>(&holder))
        return std::move(*failure);
    return SessionPtr(new Session(
        std::move(runtime), std::move(opened), std::get<MachineClock>(clock),
        std::get<std::shared_ptr<OwnHolder>>(std::move(holder))));
}

Tenancy const* Session::tenancy_of(Claim const& claim) const noexcept
{
    auto const* const tenancy = static_cast<Tenancy const*>(claim.handle.get());
    return tenancy != nullptr && tenancy->holder == holder_ ? tenancy : nullptr;
}

store::Step<std::variant<LockedArea, Failure>> Session::lock(std::string stem, Area area)
{
    return store::Step<std::variant<LockedArea, Failure>>(
        [self = shared_from_this(), stem = std::move(stem), area](LockHandler handler) mutable {
            std::make_shared<LockAttempt>(std::move(self), std::move(stem), area, std::move(handler))->run();
        });
}

Occupancy Session::look(Record const& record, BootTime now)
{
    if (record.length == 0)
        return {};
    if (record.until != 0)
        return {now < record.until, record.until};
    if (record.holder == holder_->id()) {
        auto const until = holder_->until({nullptr, record.cell, record.claim, {}, 0});
        return {until && now < *until, until};
    }
    auto const seen = others_.look(record.holder, record.cell);
    if (!seen.alive && record.reuse_after == 0)
        return {};
    if (seen.torn)
        return {true, std::nullopt};
    return {seen.cell.claim == record.claim && now < seen.cell.until, seen.cell.until};
}

void Session::wake(HolderId const& id) const
{
    // For reading also: if the store has just ended, the write would otherwise raise SIGPIPE.
    if (auto const fifo = directory_.open_file(directory_.wake(), id.text(), O_RDWR); fifo)
        static_cast<void>(::write(fifo.number(), "w", 1) == 1);
}

void Session::close() noexcept
{
    if (std::exchange(closed_, true) || fork_generation() != generation_)
        return;
    try {
        if (holder_->last_end() <= now())
            holder_->remove(directory_);
        else
            keep_until_over(holder_, now());
    } catch (...) { // NOLINT(bugprone-empty-catch): out of memory: another process clears the files away
    }
}

} // namespace tenure::file
