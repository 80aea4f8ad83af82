// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/runtime.hpp>

#include <vector>

namespace tenure
{

/** Saves turns of the loop: the handlers of users that become ready while this thread works on the strand run right
 * after that work, and what they post to the strand runs right after them.
 *
 *  Made on the stack by the completion of a socket operation, on a thread of the executor and outside the strand. What
 * `run` did not come to is posted by the destructor.
 */
class HandlerBatch
{
public:
    explicit HandlerBatch(Runtime const& runtime) noexcept;
    HandlerBatch(HandlerBatch const&) = delete;
    HandlerBatch& operator=(HandlerBatch const&) = delete;
    ~HandlerBatch();

    /** Takes a user's handler if this thread collects them; false: it must be posted. */
    [[nodiscard]] static bool take_handler(Task& handler);

    /** Takes a task for the strand if this thread is calling a batch's handlers; false: it must be posted. */
    [[nodiscard]] static bool take_task(Runtime const& runtime, Task& task);

    /** Ends the collection, calls the handlers in order, then the tasks. An exception is the user's: the rest is
     * posted.
     */
    void run();

private:
    enum class Phase { collecting, calling, over };

    Runtime const& runtime_;
    HandlerBatch* outer_;
    Phase phase_ = Phase::collecting;
    std::vector<Task> handlers_;
    std::vector<Task> tasks_;
};

} // namespace tenure
