// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/clock.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tenure::file
{

class Session;

/** Clears files away that nobody needs: those of dead holders, and range files without a holder for ten minutes. Does a
 *  little at each call, and nothing for a minute after a round. */
class Sweeper
{
public:
    void step(Session& session);

private:
    static void list(Session& session, std::vector<std::string>& names);
    static void sweep_holder(Session& session, std::string const& name);
    static void sweep_range(Session& session, std::string const& name);

    /// names that this round has not looked at; those of range files begin with '='
    std::vector<std::string> names_;
    Instant next_round_{};
};

} // namespace tenure::file
