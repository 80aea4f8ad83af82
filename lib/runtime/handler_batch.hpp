// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/runtime.hpp>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace tenure
{

/** What is better done when the handler of a batch has been called, because that handler may do it itself. */
class Afterthought
{
public:
    /** On the strand. */
    virtual void come() = 0;

protected:
    ~Afterthought() = default;
};

/** Saves a turn of the loop where one request at a time is under way: if this thread's work on the strand makes just
 * one handler of a user ready, that handler runs right after the work. If there are several, all are posted, so that
 * none of them waits for another one's work.
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
    [[nodiscard]] static bool take(Task& handler);

    /** Posts it. */
    static void post(asio::any_io_executor const& executor, Task handler);

    /** On the strand, in a batch of this runtime with just one handler so far: the afterthought comes when that handler
     * has been called, or was posted, also where it threw; but not in a fork that it made. False, and nothing is kept,
     * where there is no such batch, or it has an afterthought. */
    [[nodiscard]] static bool put_off(Runtime const& runtime, std::shared_ptr<Afterthought> afterthought) noexcept;
    /** What the afterthought is for has been done: if this thread's batch keeps it, it does not come. Tells if so. */
    static bool forget(Afterthought const& afterthought) noexcept;

    /** Ends the collection, and calls the handler if there is just one. */
    void run();

    /** Runs the work on the strand, and in a batch if that is here and now. */
    template <class Work>
    static void run_on_strand(Runtime const& runtime, Work&& work)
    {
        HandlerBatch batch(runtime);
        runtime.strand().execute(std::forward<Work>(work));
        batch.run();
    }

    /** This thread is in a batch, so it runs something for the executor of the batch's runtime. */
    [[nodiscard]] static bool is_run_by(asio::any_io_executor const& executor) noexcept;
    /** The same, for the executor below the strand. */
    [[nodiscard]] static bool is_run_below(Strand const& strand) noexcept;

private:
    Runtime const& runtime_;
    /// never on a thread of the store's, where no user's code runs
    bool collects_;
    HandlerBatch* outer_;
    /// the only one, in the usual case
    Task first_;
    std::vector<Task> more_;
    std::shared_ptr<Afterthought> afterthought_;
    /// of the process that keeps it
    std::uint64_t fork_generation_ = 0;
};

} // namespace tenure
