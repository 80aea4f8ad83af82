// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "directory.hpp"
#include "files/machine_clock.hpp"
#include "layout.hpp"
#include "runtime/fork_guard.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/errc.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenure::file
{

/** The records of all keys with one stem, and the line of their waiters. */
struct RangeFile {
    Descriptor file;
    std::uint64_t inode = 0;

    /** How many records there is room for, as far as any was written. */
    [[nodiscard]] std::uint32_t slots() const noexcept;
    [[nodiscard]] RecordPair read(std::uint32_t slot) const { return file.read<RecordPair>(Segment::record_at(slot)); }
    /** Reads the records of a segment in their order, until the visitor returns false. */
    void each(Segment const& segment, std::function<bool(std::uint32_t slot, RecordPair const&)> const& visit) const;
    /** Replaces the older copy. The first record of a slot gets both of its copies, so that later ones need no space.
     *  @param old  the copies that the file has */
    void write(std::uint32_t slot, RecordPair const& old, Record record) const;
};
using RangeFilePtr = std::shared_ptr<RangeFile const>;

/** Thrown: another process has locked a part of this file, and the request begins anew a little later. */
struct Contended {
    std::string stem;
    std::uint64_t inode;
};

/** An open directory with this store's holder file. Another one takes its place if the directory was replaced.
 *
 *  Throws a `Failure`, or an error that `failure_of` explains. */
class Session
{
public:
    Session(FileConfig const& config, std::shared_ptr<Runtime> of);

    [[nodiscard]] BootTime now() const noexcept { return clock.at(runtime->now()); }
    /** False, and from then on: the directory or this holder's file is gone or another one, and all leases are lost. */
    [[nodiscard]] bool intact() noexcept;
    /** Throws unless intact. */
    void check_intact();
    /** As `failure_of`; an error in a directory that is gone says so. */
    [[nodiscard]] Failure explain(std::exception const& error);
    /** The claim's cell; null: it is of another session. */
    [[nodiscard]] Tenancy const* tenancy_of(Claim const& claim) const noexcept;

    /** The range file of a stem. Null: it does not exist, so all its keys are free. */
    [[nodiscard]] RangeFilePtr find(std::string const& stem);
    /** As `find`; the file may have been deleted. */
    [[nodiscard]] RangeFilePtr open(std::string const& stem);
    /** Locks an area of a stem's range file, which is made if it is missing. The end of the pointer unlocks it.
     *  @throws Contended */
    [[nodiscard]] RangeFilePtr lock(std::string const& stem, Area area);
    /** Locks records. */
    [[nodiscard]] RangeFilePtr lock(Segment const& segment) { return lock(segment.stem, segment.area()); }
    /** Why a request that was contended for long has failed: names the process that keeps the lock. */
    [[nodiscard]] Failure stuck(Contended const& at) const;

    /** Clears some unused files away: those of dead holders, and range files without a holder for ten
     *  minutes. Nothing for a minute after a round. */
    void sweep() noexcept;
    /** Requests in progress fail. Deletes the holder file, unless keys are still held: their work may go on. */
    void close() noexcept;

    std::shared_ptr<Runtime> const runtime;
    MachineClock const clock;
    Directory const directory;
    std::shared_ptr<OwnHolder> const holder;
    /// `intact` was false
    bool lost = false;
    bool closed = false;

private:
    void sweep_range(std::string const& name) const;

    /// some of the range files
    std::map<std::string, RangeFilePtr> open_;
    /// how many areas are locked
    int locked_ = 0;
    /// names that this round of `sweep` has not looked at; those of range files begin with '='
    std::vector<std::string> unswept_;
    Instant next_sweep_{};
    /// a child of fork must not delete the files
    std::uint64_t generation_ = fork_generation();
};
using SessionPtr = std::shared_ptr<Session>;

/** Posts the answer, because most requests end within the call that begins them. */
template <class Reply, class Handler>
void answer(Runtime& runtime, Reply reply, Handler handler)
{
    runtime.post([reply = std::move(reply), handler = std::move(handler)]() mutable { handler(std::move(reply)); });
}

/** Answers a request by `steps`, and again from their beginning while another process has locked what they need: for at
 *  most 50 ms, and never waiting in the kernel.
 *  @param steps  throw Contended only while they have changed nothing */
template <class Reply>
void attempt(
    SessionPtr session, std::function<Reply()> steps, ReplyHandler<Reply> handler, Instant give_up_at = {},
    Clock::duration pause = std::chrono::microseconds(50))
{
    using namespace std::chrono_literals;
    auto const now = session->runtime->now();
    give_up_at = give_up_at == Instant{} ? now + 50ms : give_up_at;
    std::optional<Reply> reply;
    try {
        reply = session->closed ? Failure::not_sent(errc::closed, "the store was closed") : steps();
    } catch (Failure const& failure) {
        reply = failure;
    } catch (Contended const& contended) {
        if (now >= give_up_at)
            reply = session->stuck(contended);
    } catch (std::exception const& error) {
        reply = session->explain(error);
    }
    if (reply)
        answer(*session->runtime, std::move(*reply), std::move(handler));
    else
        session->runtime->call_at(now + pause, [=, steps = std::move(steps), handler = std::move(handler)]() mutable {
            attempt<Reply>(
                session, std::move(steps), std::move(handler), give_up_at, std::min<Clock::duration>(2 * pause, 2ms));
        });
}

/** As above, for steps without a reply. */
inline void
attempt(SessionPtr session, std::function<void()> steps, ReplyHandler<ReadyReply> done = [](ReadyReply&&) {})
{
    auto const run = [steps = std::move(steps)]() -> ReadyReply {
        steps();
        return Ready{};
    };
    attempt<ReadyReply>(std::move(session), run, std::move(done));
}

/** The state of a key. */
struct Occupancy {
    bool taken = false;
    /// unset: unknown
    std::optional<BootTime> until;
};

/** One look at keys. Reads the clock **first**: a holder that renews meanwhile only makes its key look older. Reads
 * each block of a holder file once. */
class Look
{
public:
    explicit Look(Session const& session)
        : since(session.runtime->now())
        , now(session.clock.at(since))
        , session_(session)
        , holders_(session.directory.folders())
    {
    }

    /// the clock at the beginning
    Instant const since;
    BootTime const now;

    /** The state of the key of a record that was read after the beginning. */
    [[nodiscard]] Occupancy at(Record const& record);

private:
    Session const& session_;
    OtherHolders holders_;
};

} // namespace tenure::file
