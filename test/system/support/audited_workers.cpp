// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "system/support/audited_workers.hpp"

#include "harness/paths.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tenure::test
{

AuditedWorkers::AuditedWorkers(WorkerPlan plan)
    : plan_(std::move(plan))
{
}

void AuditedWorkers::start_tenure(std::string const& client, std::string const& program)
{
    workers_.push_back(
        {client,
         ChildProcess{Command{
             {program, server_.url(), audit_, plan_.lock ? "lock" : std::to_string(plan_.slots),
              std::to_string(plan_.ttl.count()), plan_.hold, plan_.rest, std::to_string(plan_.time.count())}}}});
}

void AuditedWorkers::start_polling(
    std::string const& client, std::vector<std::string> program, std::vector<std::string> const& more)
{
    for (auto const& argument :
         {std::to_string(server_.port()), std::string{"thread_id_lock:"}, std::to_string(plan_.slots),
          std::to_string(plan_.ttl.count()), plan_.hold, plan_.rest, std::to_string(plan_.time.count()),
          test_program("audit_pipe"), audit_, plan_.pause})
        program.push_back(argument);
    program.insert(program.end(), more.begin(), more.end());
    workers_.push_back({client, ChildProcess{Command{std::move(program)}}});
}

void AuditedWorkers::kill_one(std::string const& client)
{
    for (auto& worker : workers_) {
        if (worker.client == client && worker.process.running()) {
            worker.process.kill();
            return;
        }
    }
    throw std::logic_error("no process of " + client + " runs");
}

void AuditedWorkers::finish()
{
    for (auto& worker : workers_) {
        INFO(worker.client);
        CHECK(worker.process.wait_for(plan_.time + std::chrono::seconds{20}) == ExitStatus{0, 0});
    }
}

bool AuditedWorkers::all_running()
{
    return std::ranges::all_of(workers_, [](Worker& worker) { return worker.process.running(); });
}

std::vector<std::string> AuditedWorkers::double_holdings() const
{
    std::vector<std::string> result;
    for (auto const& violation : auditor_.violations())
        result.push_back(
            client_of(violation.earlier) + " and " + client_of(violation.later) + ", " + violation.describe());
    return result;
}

std::string const& AuditedWorkers::client_of(Holding const& holding) const
{
    auto const worker = std::ranges::find(workers_, holding.pid, [](Worker const& each) { return each.process.pid(); });
    if (worker == workers_.end())
        throw std::logic_error("a process that is none of the workers holds a key");
    return worker->client;
}

std::vector<Grant> AuditedWorkers::grants() const
{
    std::vector<Grant> result;
    for (auto const& holding : auditor_.holdings()) {
        if (holding.valid_until <= holding.entered)
            continue;
        result.push_back({holding, client_of(holding)});
    }
    std::ranges::stable_sort(result, {}, [](Grant const& grant) { return grant.holding.entered; });
    return result;
}

} // namespace tenure::test
