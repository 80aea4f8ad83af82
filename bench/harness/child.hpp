// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <sys/types.h>

#include <functional>
#include <vector>

namespace bench
{

/** Which core a process is held to. The server always has the first one. */
enum class Place {
    /// the server's own core: what a client costs shows in full
    same,
    /// a core of its own: what two machines would see, less the network
    split,
    /// all cores: what several processes beside a server have
    any
};

/** Holds the calling thread, and what it starts from now on, to that core. */
void pin(Place place);

/** Work in a process of its own, which is killed with this object if it still runs. */
class Child
{
public:
    /** Starts it. `work` returns at most 64 values. */
    Child(Place place, std::function<std::vector<double>()> const& work);
    Child(Child&& other) noexcept;
    Child(Child const&) = delete;
    Child& operator=(Child const&) = delete;
    Child& operator=(Child&&) = delete;
    ~Child();

    [[nodiscard]] pid_t id() const noexcept { return pid_; }

    /** Waits for what it measured; once. Ends the child after two minutes beyond `expected_seconds`.
     *  @throws std::runtime_error if the child failed; it has then said why */
    [[nodiscard]] std::vector<double> result(double expected_seconds = 0);

private:
    /// -1: waited for, or moved from
    pid_t pid_ = -1;
    /// the end of the pipe on which the values arrive
    int input_ = -1;
};

/** Runs the work in a process of its own on the given core and returns what it measured, so that no run inherits the
 * heap, the threads or the connections of the one before. Ends the child after two minutes beyond `expected_seconds`.
 *  @throws std::runtime_error if the child failed; it has then said why */
[[nodiscard]] std::vector<double>
in_child(Place place, std::function<std::vector<double>()> const& work, double expected_seconds = 0);

} // namespace bench
