// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "ledger.hpp"

#include "harness/child_process.hpp"
#include "harness/immovable.hpp"
#include "harness/postgresql_server.hpp"
#include "harness/scratch_directory.hpp"

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace tenure::faults
{

/** Processes that write under `tenure.guard`, and contend for a few keys of their own. Half of their transactions stall
 * past the ttl between the guard and the commit. The database itself judges each write at its commit: it is late if a
 * later claim on its key has been committed by then. */
class GuardedWriters : test::Immovable
{
public:
    struct Setup {
        /// of the store
        std::string url;
        /// for libpq
        std::string database;
        std::chrono::milliseconds ttl;
        std::uint64_t seed = 0;
    };

    /** Makes the table in which writes are counted. */
    static void install(test::PostgresqlPerson& owner);
    explicit GuardedWriters(Setup const& setup);

    /** Ends the processes. */
    void end();
    /** A late write is a breach. */
    void judge(test::PostgresqlPerson& person, Ledger& ledger, std::ostream& figures);

private:
    test::ScratchDirectory directory_;
    std::vector<test::ChildProcess> processes_;
};

} // namespace tenure::faults
