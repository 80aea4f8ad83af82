// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "session.hpp"
#include "store/hint_registry.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
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
    explicit Watches(std::shared_ptr<Runtime> runtime);

    /** Begins all watches in the files of a session. */
    void begin(SessionPtr session);
    /** The files of the session are lost: nothing is heard until the next one begins. */
    void interrupt();
    void close() noexcept;

    [[nodiscard]] std::unique_ptr<Watch> watch(LinePlace place, WatchAs as, std::function<void(WatchEvent)> handler);

    // -- the place of this store in a line --

    [[nodiscard]] bool is_in_line(LinePlace const& place);
    /** @param line  locked */
    void join(LinePlace const& place, Line line, bool in_front);
    /** Leaves the line soon, if the store is in it. */
    void leave(LinePlace const& place);
    /** A claim found all keys held by these holders: their deaths are news for the waiters of this line. */
    void follow(LinePlace const& place, std::set<HolderId> const& holders);

private:
    /// a line, and the role in it
    using Topic = std::pair<LinePlace, std::uint8_t>;
    struct State {
        /// the entry is in the file
        bool entered = false;
        /// the entry's counts that were seen last
        std::uint8_t hints = 0;
        std::uint8_t others = 0;
    };
    using Registry = store::HintRegistry<Topic, State>;
    using Fifo = asio::posix::basic_stream_descriptor<asio::any_io_executor>;
    class Ending;

    /** A holder whose death is awaited, by the error event of its FIFO. */
    struct Followed {
        std::unique_ptr<Fifo> fifo;
        std::set<LinePlace> lines;
        /// looks at the holder's lock since the event
        int looks = 0;
    };

    /** Calls `change` with the locked line of the topic, later; drops it if the line cannot be locked. */
    void change_line(LinePlace place, std::function<void(Line)> change, std::function<void()> failed = nullptr);
    void enter(Topic const& topic);
    void ended(Topic const& topic);
    void wait();
    void stop_waiting() noexcept;
    void on_wake();
    void look_at(Topic const& topic, Line const& line);
    void follow(LinePlace const& place, HolderId const& holder);
    void look_whether_dead(HolderId const& holder);
    void on_death(LinePlace const& place);
    [[nodiscard]] bool watched();

    std::shared_ptr<Runtime> runtime_;
    /// null while the directory is not open
    SessionPtr session_;
    Registry registry_;
    /// lines in which this store has a ticket, as far as it knows
    std::set<LinePlace> in_line_;
    /// this store's own FIFO, which the session owns; unset while it is not read
    std::optional<Fifo> fifo_;
    /// an event of `fifo_` is awaited
    bool waiting_ = false;
    std::map<HolderId, Followed> followed_;
};

} // namespace tenure::file
