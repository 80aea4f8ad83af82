// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "acceptance/shutdown_cells.hpp"

#include "harness/child_process.hpp"
#include "harness/eventually.hpp"
#include "harness/paths.hpp"
#include "harness/scratch_directory.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <csignal>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <variant>

namespace tenure::test
{

namespace
{

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// for a service that was told to stop
constexpr milliseconds limit = 1500ms;
/// how long the service runs in the outage; a release gives up waiting for its answer after a second
constexpr auto endurance = 700ms;
/// the same for all stores; the shortest that ZooKeeper's servers grant in these tests is below it
constexpr auto ttl_ms = "4700";

class Cell
{
public:
    Cell(std::string_view store, Outage outage)
        : title_(std::string(store) + ", " + std::string(name_of(outage)))
        , outage_(outage)
        , made_(make_unavailable(store, outage))
    {
    }

    [[nodiscard]] std::string const& title() const noexcept { return title_; }
    [[nodiscard]] std::string const* why_not() const noexcept { return std::get_if<std::string>(&made_); }
    [[nodiscard]] bool has_leases() const { return static_cast<bool>(store().strike); }

    void start()
    {
        Command command;
        command.arguments = {test_program("shut_down"), store().url, ttl_ms};
        for (auto const* const operation : {"hold", "lock", "pool", "async_run", "inspect"})
            if (has_leases() || std::string_view(operation) != "hold")
                command.arguments.emplace_back(operation);
        if (has_leases())
            for (auto const* const operation : {"async_with_lease", "release", "renew"})
                command.arguments.emplace_back(operation);
        if (outage_ == Outage::names_hang)
            command.environment = {{"LD_PRELOAD", hanging_names_shim()}, {"ASAN_OPTIONS", "verify_asan_link_order=0"}};
        operations_ = command.arguments.size() - 3;
        command.output = directory_.file("output");
        process_ = std::make_unique<ChildProcess>(command);
    }

    [[nodiscard]] bool is_ready(milliseconds time) const
    {
        return eventually([this] { return output().find("ready\n") != std::string::npos; }, time);
    }
    void strike()
    {
        if (has_leases())
            store().strike();
        process_->signal(SIGUSR1);
    }
    void stop() { process_->signal(SIGTERM); }

    void check()
    {
        auto const status = process_->wait_for(30s);
        std::istringstream lines(output());
        std::string line;
        std::size_t reported = 0;
        while (std::getline(lines, line)) {
            std::istringstream words(line);
            std::string operation;
            long took = 0;
            long stalled = 0;
            std::string result;
            if (!(words >> operation >> took >> stalled) || !std::getline(words, result))
                continue;
            ++reported;
            std::cout << title_ << ": " << line << "\n";
            INFO(title_ << ": " << line);
            CHECK(milliseconds(took - stalled) <= limit);
            // it was still at work when it was told to stop; a release is not told
            if (!ends_by_itself(operation))
                CHECK(result.find("Operation canceled") != std::string::npos);
        }
        if (!has_leases())
            std::cout << title_ << ": async_with_lease, release, renew: cannot be, nothing was ever granted\n";
        INFO(title_ << "\n" << output());
        CHECK(reported == operations_);
        REQUIRE(status.has_value());
        CHECK(status->code == 0);
    }

    [[nodiscard]] std::string output() const { return directory_.text_of("output"); }

private:
    [[nodiscard]] bool ends_by_itself(std::string_view operation) const
    {
        bool const acquires = operation != "inspect" && operation != "release";
        return operation == "release" || (acquires && outage_ == Outage::wrong_password);
    }
    [[nodiscard]] UnavailableStore const& store() const { return std::get<UnavailableStore>(made_); }

    std::string title_;
    Outage outage_;
    std::variant<UnavailableStore, std::string> made_;
    ScratchDirectory directory_;
    std::size_t operations_ = 0;
    /// goes before its servers
    std::unique_ptr<ChildProcess> process_;
};

} // namespace

void check_shutdown(std::vector<std::pair<std::string_view, Outage>> const& cells)
{
    std::vector<std::unique_ptr<Cell>> running;
    for (auto const& [store, outage] : cells) {
        auto cell = std::make_unique<Cell>(store, outage);
        if (auto const* const why = cell->why_not())
            std::cout << cell->title() << ": cannot be: " << *why << "\n";
        else
            running.push_back(std::move(cell));
    }
    for (auto const& cell : running)
        cell->start();
    for (auto const& cell : running) {
        INFO(cell->title() << "\n" << cell->output());
        REQUIRE(cell->is_ready(60s));
    }
    for (auto const& cell : running)
        cell->strike();
    std::this_thread::sleep_for(endurance);
    for (auto const& cell : running)
        cell->stop();
    for (auto const& cell : running)
        cell->check();
}

} // namespace tenure::test
