// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <functional>
#include <vector>

namespace bench
{

/** Which core a process is held to. The server always has the first one. */
enum class Place {
    /// the server's own core: what a client costs shows in full
    same,
    /// a core of its own: what two machines would see, less the network
    split
};

/** Holds the calling thread, and what it starts from now on, to one core. */
void pin(Place place);

/** Runs the work in a process of its own on the given core and returns what it measured, so that no run inherits the
 * heap, the threads or the connections of the one before. Ends the child after two minutes beyond `expected_seconds`.
 *  @throws std::runtime_error if the child failed; it has then said why */
[[nodiscard]] std::vector<double>
in_child(Place place, std::function<std::vector<double>()> const& work, double expected_seconds = 0);

} // namespace bench
