// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "directory.hpp"
#include "line.hpp"
#include "machine_clock.hpp"
#include "other_holders.hpp"
#include "own_holder.hpp"
#include "range_file.hpp"
#include "runtime/fork_guard.hpp"
#include "store/request.hpp"
#include "sweep.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>

namespace tenure::file
{

/** The state of a key. */
struct Occupancy {
    bool taken = false;
    /// unset: unknown
    std::optional<BootTime> until;
};

/** An open directory with this store's holder file. Another one takes its place if the directory was replaced. */
class Session : public std::enable_shared_from_this<Session>
{
public:
    [[nodiscard]] static std::variant<std::shared_ptr<Session>, Failure>
    open(FileConfig const& config, std::shared_ptr<Runtime> runtime);

    Session(Session const&) = delete;
    Session& operator=(Session const&) = delete;
    ~Session() = default;

    [[nodiscard]] Runtime& runtime() const noexcept { return *runtime_; }
    [[nodiscard]] Directory const& directory() const noexcept { return directory_; }
    [[nodiscard]] MachineClock const& clock() const noexcept { return clock_; }
    [[nodiscard]] BootTime now() const noexcept { return clock_.at(runtime_->now()); }
    [[nodiscard]] OwnHolder& holder() noexcept { return *holder_; }
    [[nodiscard]] OtherHolders& others() noexcept { return others_; }
    [[nodiscard]] RangeFiles& ranges() noexcept { return ranges_; }

    /** False: the directory or this holder's file is gone or another one, and all leases are lost. */
    [[nodiscard]] bool intact() noexcept
    {
        lost_ = lost_ || !directory_.is_same() || holder_->deleted();
        return !lost_;
    }
    /** True once `intact` was false. */
    [[nodiscard]] bool lost() const noexcept { return lost_; }
    /** The claim's cell; null: it is of another session. */
    [[nodiscard]] Tenancy const* tenancy_of(Claim const& claim) const noexcept;

    /** Locks an area of a stem's range file, which is made if it is missing. Fails if another process keeps it locked
     *  for 50 ms: a lock is never broken. */
    [[nodiscard]] store::Step<std::variant<LockedArea, Failure>> lock(std::string stem, Area area);

    /** The state of the key of a record, at an instant that was read before the record. */
    [[nodiscard]] Occupancy look(Record const& record, BootTime now);
    [[nodiscard]] bool is_alive(HolderId const& id) { return id == holder_->id() || others_.alive(id); }

    /** Wakes a store: it looks at its lines. */
    void wake(HolderId const& id) const;
    /** Clears some files of the dead away, now and then. */
    void sweep() { sweeper_.step(*this); }

    /** Requests in progress fail. The holder file is deleted, unless keys are still held. */
    void close() noexcept;
    [[nodiscard]] bool closed() const noexcept { return closed_; }

private:
    Session(
        std::shared_ptr<Runtime> runtime, Directory directory, MachineClock clock, std::shared_ptr<OwnHolder>&& holder);

    std::shared_ptr<Runtime> runtime_;
    Directory directory_;
    MachineClock clock_;
    std::shared_ptr<OwnHolder> holder_;
    OtherHolders others_{directory_};
    RangeFiles ranges_{directory_};
    Sweeper sweeper_;
    /// a child of fork must not delete the files
    std::uint64_t generation_ = fork_generation();
    bool lost_ = false;
    bool closed_ = false;
};
using SessionPtr = std::shared_ptr<Session>;

} // namespace tenure::file
