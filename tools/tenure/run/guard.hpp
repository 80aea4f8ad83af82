// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "run/descriptor.hpp"
#include "run/guard_page.hpp"

#include <sys/types.h>

#include <chrono>
#include <memory>

namespace tenure::tool
{

/** When a command has to be ended, in nanoseconds of CLOCK_BOOTTIME. */
struct GuardDeadlines {
    /// the guard sends SIGTERM from then on, if the keeper has not
    std::chrono::nanoseconds terminate_at{};
    /// the guard sends SIGKILL
    std::chrono::nanoseconds kill_at{};
};

/** The keeper's side of the guard: a process that ends the command's process group when the keeper dies, and when the
 * deadlines pass because the keeper is stopped, or its loop is stuck, and did not move them.
 *
 *  The guard leaves the keeper's session, holds none of its descriptors but `holder_descriptors()`, and ends with it.
 * If the guard itself is killed or stopped, `check` starts another.
 */
class Guard
{
public:
    /** Forks the first guard: before the program starts threads or opens anything. @throws std::system_error */
    Guard();
    Guard(Guard const&) = delete;
    Guard& operator=(Guard const&) = delete;
    /** Stops the guard, which no longer kills the command. */
    ~Guard();

    /** Names the group to end, and returns once the guard has taken note of it.
     *  @return false if no guard did, even after a new one was started: the command must not run */
    [[nodiscard]] bool watch(pid_t group, GuardDeadlines deadlines);

    /** Moves the deadlines of the group that is watched. */
    void move(GuardDeadlines deadlines) noexcept;

    /** The group has ended: ends the guard too. To be called before the group's first process is reaped, so that a
     * guard that is just about to kill cannot meet a stranger under the same number. */
    void dismiss() noexcept;

    /** True if the caller is the one who now has to send SIGTERM; false if the guard has done so. */
    [[nodiscard]] bool begin_termination() noexcept;

    /** True if the guard has asked the group to end, or killed it, on its own. */
    [[nodiscard]] bool has_acted() const noexcept;

    /** Looks whether the guard process is alive and running, and starts a new one if not.
     *  @return false if there is none and none could be started: the command must end */
    [[nodiscard]] bool check();

    /** Of the guard process. */
    [[nodiscard]] pid_t id() const noexcept { return id_; }
    /** How many guard processes have been started. */
    [[nodiscard]] unsigned started() const noexcept { return started_; }

private:
    struct Unmap {
        void operator()(GuardPage* page) const noexcept;
    };

    void start();
    void end_process() noexcept;
    /** Asks the guard to look at the page, and waits for its word that it did. */
    [[nodiscard]] bool confirmed();

    std::unique_ptr<GuardPage, Unmap> page_;
    /// closes with this process, however that ends
    Descriptor channel_;
    pid_t id_ = -1;
    unsigned started_ = 0;
};

} // namespace tenure::tool
