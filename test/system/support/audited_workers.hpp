// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/auditor.hpp"
#include "harness/child_process.hpp"
#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tenure::test
{

/** The work of workers with the keys of the default pool, the same in all languages. */
struct WorkerPlan {
    /// how many keys there are
    std::uint32_t slots = 1;
    /// this library takes the first key by a `Lock` instead of a pool
    bool lock = false;
    std::chrono::milliseconds ttl{};
    /// shortest and longest time that a key is held, milliseconds
    std::string hold = "0-200";
    /// shortest and longest time after a release in which a worker wants no key, milliseconds
    std::string rest = "0-0";
    /// shortest and longest pause of a program that polls, milliseconds
    std::string pause = "10-50";
    std::chrono::seconds time{};
};

/** One holding of a key, and the client that had it. */
struct Grant {
    Holding holding;
    std::string client;
};

/** Processes of several clients that share the keys of one Redis server, and an auditor that all of them tell when they
 * rely on a key. */
class AuditedWorkers
{
public:
    explicit AuditedWorkers(WorkerPlan plan);

    /** Starts a process that uses this library.
     *  @param client   name for reports
     *  @param program  patient_worker.cpp, compiled with any version of the library */
    void start_tenure(std::string const& client, std::string const& program);
    /** Starts a process that polls: `program` is what comes before the arguments that all of them take, `more` what
     * comes after. */
    void start_polling(
        std::string const& client, std::vector<std::string> program, std::vector<std::string> const& more = {});

    /** Kills the oldest process of this client that still runs. */
    void kill_one(std::string const& client);
    /** Waits until all have done their time; a failed check for each that did not end well. */
    void finish();
    /** Whether all still run. */
    [[nodiscard]] bool all_running();

    [[nodiscard]] RedisServer& server() noexcept { return server_; }
    [[nodiscard]] std::uint32_t keys() const noexcept { return plan_.slots; }
    /** A line for each double holding that the auditor found, with the clients' names. */
    [[nodiscard]] std::vector<std::string> double_holdings() const;
    /** All grants so far in the order in which they were made, but for holders that were stopped until their lease had
     * expired: these never relied on it. */
    [[nodiscard]] std::vector<Grant> grants() const;

private:
    struct Worker {
        std::string client;
        ChildProcess process;
    };

    [[nodiscard]] std::string const& client_of(Holding const& holding) const;

    WorkerPlan plan_;
    RedisServer server_;
    ScratchDirectory directory_;
    std::string audit_ = directory_.file("audit");
    Auditor auditor_ = Auditor::create(audit_, plan_.slots);
    std::vector<Worker> workers_;
};

} // namespace tenure::test
