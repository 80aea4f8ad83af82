// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "demo/board.hpp"

#include <tenure/slot_pool.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace tenure::tool
{

namespace asio = boost::asio;

class Inheritance;

struct DemoSettings {
    std::string url;
    std::string pool;
    std::uint32_t workers = 5;
    std::uint32_t slots = 3;
    std::chrono::seconds duration{8};
    std::chrono::milliseconds ttl{2'000};
    int verbosity = 0;
    bool color = false;

    [[nodiscard]] SlotPoolConfig pool_config() const { return {pool, slots, ttl, {}}; }
    /** A key is free as soon as its holder's process is dead. */
    [[nodiscard]] bool frees_at_death() const noexcept { return url.starts_with("file:"); }
    /** The one that will be killed. */
    [[nodiscard]] std::uint32_t victim() const noexcept { return workers - 1; }
};

/** The workers of the demo, wherever they run. */
class DemoCrew
{
public:
    DemoCrew() = default;
    DemoCrew(DemoCrew const&) = delete;
    DemoCrew& operator=(DemoCrew const&) = delete;
    virtual ~DemoCrew() = default;

    virtual void start() = 0;
    /** Ends the victim at once, so that it can neither renew nor release. */
    virtual void kill_victim() = 0;
    /** Whether workers can be paused: only processes can. */
    [[nodiscard]] virtual bool can_pause() const { return false; }
    virtual void pause(std::uint32_t /* worker */) {}
    virtual void resume(std::uint32_t /* worker */) {}
    /** True once all others have ended; the board has been closed before. */
    [[nodiscard]] virtual bool ended() = 0;
    /** For a person: where the workers run. */
    [[nodiscard]] virtual std::string describe() const = 0;
};

/** Workers in this process, on the loop; the victim has a thread and a loop of its own, which can be stopped dead. */
[[nodiscard]] std::unique_ptr<DemoCrew>
make_crew_of_coroutines(DemoSettings const& settings, DemoBoard& board, asio::io_context& loop);

/** Workers in processes of their own. */
[[nodiscard]] std::unique_ptr<DemoCrew>
make_crew_of_processes(DemoSettings const& settings, DemoBoard& board, Inheritance const& inheritance);

/** One worker of the demo: takes a slot, works under it for a moment, gives it back, again and again until the board is
 * closed. When its token is cancelled it stops working and takes another slot.
 *
 *  @param board  outlives the operation */
[[nodiscard]] asio::awaitable<void> work_for_demo(SlotPool pool, DemoBoard& board, std::uint32_t index);

} // namespace tenure::tool
