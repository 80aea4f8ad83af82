// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "random.hpp"

#include <testing/virtual_time.hpp>

#include <tenure/backend/runtime.hpp>

#include <deque>
#include <memory>

namespace tenure::simulation
{

/** The threads of users: what is posted to their executor runs in any order, as on a machine with many threads, and one
 *  thread at a time may be interrupted before it begins its task. The strands of stores run beside them, in the order
 * of virtual time. */
class Threads
{
public:
    /** Both outlive this object. */
    Threads(testing::VirtualTime& time, Random& random);
    Threads(Threads const&) = delete;
    Threads& operator=(Threads const&) = delete;
    ~Threads();

    /** Of a process of its own; its users' executor is that of the threads. */
    [[nodiscard]] std::shared_ptr<Runtime> make_runtime(std::uint64_t seed);

    /** Runs one task of any thread or strand. @returns false if nothing is ready */
    bool run_one();
    /** One of the tasks that are ready waits until `resume`. */
    void interrupt();
    void resume();
    /** Runs everything. */
    void run_ready();
    /** Nothing is ready, and no thread is interrupted. */
    [[nodiscard]] bool quiet() const;

private:
    struct Tasks;

    [[nodiscard]] bool strands_are_ready() const;
    [[nodiscard]] std::unique_ptr<testing::VirtualTime::State::Work> take();

    testing::VirtualTime& time_;
    Random& random_;
    /// shared with the executors
    std::shared_ptr<Tasks> tasks_;
    std::unique_ptr<testing::VirtualTime::State::Work> interrupted_;
};

} // namespace tenure::simulation
