// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "line.hpp"

#include <set>
#include <utility>

namespace tenure::file
{

/** The watches of a store: entries in the lines of range files, and the FIFO by which other processes wake this one.
 *
 *  While nothing is watched, nothing is left waiting on the executor. Everything runs on the strand. */
class Watches : public std::enable_shared_from_this<Watches>
{
public:
    explicit Watches(std::shared_ptr<Runtime> runtime)
        : runtime_(std::move(runtime))
    {
    }
    /** Begins all watches in the files of a session. */
    void begin(SessionPtr session);
    /** The session has ended: nothing is heard until the next one begins. */
    void interrupt();
    void close() noexcept;

    [[nodiscard]] std::unique_ptr<Watch> watch(Segment line, WatchAs as, WatchHandler handler);
    /** Joins the line. False: this store is in it already, or does not wait for its keys. @throws Contended */
    [[nodiscard]] bool join(Segment const& line, bool in_front);
    /** Leaves the line soon, if the store is in it. */
    void leave(Segment const& line);
    /** A claim found all keys held by these holders: their deaths are news for all waiters. */
    void follow(std::set<HolderId> const& holders);

private:
    using Id = std::uint64_t;
    struct Watched {
        Segment line;
        WatchAs as;
        WatchHandler handler;
        /// its entry has a ticket, as far as this store knows
        bool in_line = false;
    };
    /** The watch of this store that waits in the line; 0: none. */
    [[nodiscard]] Id waiter_of(Segment const& line) const;
    /** A new entry of a watch. */
    [[nodiscard]] LineEntry entry_of(Id id) const;
    /** Changes a line of the session as soon as it is not locked. */
    void
    edit(Segment const& line, std::function<void(Line&)> change, ReplyHandler<ReadyReply> done = [](ReadyReply&&) {});
    void enter(Id id);
    void end(Id id);
    void notify(Id id, WatchEvent event, std::vector<std::uint64_t> held = {});
    void hear(Message const& message);

    std::shared_ptr<Runtime> runtime_;
    /// null while the directory is not open
    SessionPtr session_;
    std::map<Id, Watched> watched_;
    Id last_ = 0;
    /// of the session
    std::shared_ptr<Mailbox> mailbox_;
};

} // namespace tenure::file
