// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "faults/arena.hpp"
#include "faults/random.hpp"
#include "faults/testimony.hpp"
#include "harness/auditor.hpp"
#include "harness/immovable.hpp"
#include "pulse.hpp"
#include "register_client.hpp"
#include "share_keys.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenure::faults
{

namespace asio = boost::asio;

/** The state that the tasks of one worker share. */
struct Workplace {
    Arena arena;
    test::Auditor auditor;
    TestimonyFile testimony;
    std::string register_path;
    Pulse pulse;
    /// unset once the worker ends: the store lives no longer than its work
    std::optional<SlotPool> pool;
    std::vector<Lock> locks;
    /// unset: the locks are plain, or the worker ends
    std::optional<ShareKeys> shares;
    /// the worker was told to end
    bool ended = false;
};

/** One task of a worker: acquires, holds for a random time while it writes to the register, gives back, for ever; now
 * and then it cancels, or lets go without a word. It believes what the library tells it, and nothing else, and writes
 * down where that was wrong. */
class Holder : test::Immovable
{
public:
    /** @param task  its number in the worker */
    Holder(boost::asio::any_io_executor const& executor, Workplace& place, std::uint64_t seed, std::uint32_t task);
    ~Holder() = default;

    /** Ends when the worker was told to end and holds no lease. */
    asio::awaitable<void> take_turns();

    /** The worker was told to end: whatever it waits for is cancelled. */
    void stop();

private:
    /** The result of a token's wait. */
    struct Told {
        bool done = false;
        bool fired = false;
        std::int64_t at = 0;
    };
    /** One lease that is held. */
    struct Hold {
        Lease lease;
        std::uint32_t cell = 0;
        /// of the key, if it is held in shares
        Part part;
        /// when its acquisition began
        std::int64_t began = 0;
        test::Auditor::Entry entry = 0;
        std::int64_t entered = 0;
        /// when it is to be given back
        std::int64_t until = 0;
        /// asks the token again and again, or only waits to be told
        bool polls = false;
        /// still relies on it
        bool live = true;
        /// consecutive turns of the loop after the token's time, without having been told
        int turns_too_late = 0;
        std::shared_ptr<Told> told = std::make_shared<Told>();
    };

    asio::awaitable<void> take_turn();
    asio::awaitable<Lease> acquire(std::uint32_t& cell);
    asio::awaitable<void> take_share();
    asio::awaitable<Lease> acquire_share(Hold& hold);
    void cancel_soon();
    asio::awaitable<void> work(Hold& hold);
    asio::awaitable<void> write(Hold& hold);
    asio::awaitable<void> give_back(Hold& hold);
    asio::awaitable<void> pause(std::chrono::milliseconds time);

    void enter(Hold& hold);
    void listen(Hold& hold);
    /** Looks at everything the library says of the lease; false: it is over. */
    [[nodiscard]] bool look(Hold& hold);
    void look_at_lateness(Hold& hold);
    void leave(Hold& hold);
    void testify_loss(Hold& hold);
    void complain(Hold const& hold, std::string rule, std::string text);

    Workplace& place_;
    /// the cell whose shares it takes
    std::uint32_t share_cell_;
    Random random_;
    asio::steady_timer timer_;
    asio::steady_timer canceller_;
    asio::cancellation_signal cancel_;
    RegisterClient register_;
};

} // namespace tenure::faults
