// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "descriptor.hpp"
#include "runtime/names.hpp"
#include "runtime/timer.hpp"

#include <tenure/backend/runtime.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace tenure
{

/** What a process writes into the FIFO of another one. */
struct Message {
    std::uint64_t about = 0;
    std::uint64_t event = 0;
    /// more about the event; 0: nothing
    std::uint64_t number = 0;
};

/** Writes a message. A full FIFO loses it. @param fifo  open for reading also: without a reader SIGPIPE would be raised
 */
void send(Descriptor const& fifo, Message const& message) noexcept;

/** Hears messages in the FIFO of this process, and the deaths of other processes by theirs. Everything runs on the
 *  strand. */
class Mailbox : public std::enable_shared_from_this<Mailbox>
{
public:
    /** @param fifo  belongs to the caller, and stays open for as long as this object exists */
    Mailbox(std::shared_ptr<Runtime> runtime, Descriptor const& fifo, std::function<void(Message const&)> heard);
    Mailbox(Mailbox const&) = delete;
    Mailbox& operator=(Mailbox const&) = delete;
    ~Mailbox();

    /** Hears messages and deaths from now on, until `stop`. Nothing is left waiting on the executor after it. */
    void listen();
    void stop();

    /** Awaits a death, if it is not awaited already: the end of all readers of a FIFO. The locks of a dead process
     *  vanish a moment later, so it looks several times. The oldest of many may be forgotten.
     *  @param fifo  open for writing; empty if it has no reader
     *  @param is_alive  whether the process has its locks
     *  @param died  also called for a process that closed its FIFO and keeps its locks */
    void follow(std::string const& name, Descriptor fifo, std::function<bool()> is_alive, std::function<void()> died);
    [[nodiscard]] bool follows(std::string const& name) const { return followed_.contains(name); }

private:
    using Fifo = asio::posix::basic_stream_descriptor<asio::any_io_executor>;
    struct Followed {
        explicit Followed(Runtime& runtime)
            : again(runtime)
        {
        }
        std::optional<Fifo> fifo;
        std::function<bool()> is_alive;
        std::function<void()> died;
        /// the next look
        Timer again;
    };
    void await(Fifo& fifo, Fifo::wait_type event, std::function<void(Mailbox&, bool is_cancelled)> then);
    void look(std::string const& name, std::chrono::milliseconds pause);

    std::shared_ptr<Runtime> runtime_;
    Fifo fifo_;
    std::function<void(Message const&)> heard_;
    bool listens_ = false;
    /// an event of `fifo_` is awaited
    bool waiting_ = false;
    std::map<std::string, Followed> followed_;
};

} // namespace tenure
