// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A worker of the fault runs: tasks that take turns with leases until SIGTERM. SIGUSR1 blocks its loop for one and a
// half ttls.
//   fault_worker URL AUDIT_FILE TESTIMONY_FILE REGISTER_SOCKET SLOTS LOCKS TTL_MS TASKS SEED SHARES [MUTANT]
// SHARES is the text of a `ShareWork`, or - for plain locks.
//   fault_worker --has-mutant NAME     -> exit status 0 if there is such a planted bug
// Errors of the store end a turn, not the process: servers may come and go under it.
#include "holder.hpp"

#include "mutants/mutants.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace
{

using namespace tenure::faults;
namespace asio = boost::asio;

struct Command {
    std::string url;
    std::string audit;
    std::string testimony;
    std::string register_socket;
    Arena arena;
    unsigned tasks = 1;
    std::uint64_t seed = 0;
    /// unset: plain locks
    std::optional<ShareWork> shares;
};

Command read(char** argument)
{
    Command command;
    command.url = argument[1];
    command.audit = argument[2];
    command.testimony = argument[3];
    command.register_socket = argument[4];
    command.arena.slots = static_cast<std::uint32_t>(std::stoul(argument[5]));
    command.arena.locks = static_cast<std::uint32_t>(std::stoul(argument[6]));
    command.arena.ttl = std::chrono::milliseconds{std::stoll(argument[7])};
    command.tasks = static_cast<unsigned>(std::stoul(argument[8]));
    command.seed = std::stoull(argument[9]);
    if (argument[10] != std::string_view{"-"}) {
        command.shares = ShareWork::read(argument[10]);
        command.arena.kinds = command.shares->kinds;
    }
    return command;
}

std::vector<tenure::Lock> locks_of(tenure::Store const& store, Arena const& arena)
{
    std::vector<tenure::Lock> locks;
    for (std::uint32_t lock = 0; lock < (arena.kinds.empty() ? arena.locks : 0); ++lock)
        locks.emplace_back(store, tenure::LockConfig{.key = arena.lock_key(lock), .ttl = arena.ttl});
    return locks;
}

/** The process: its tasks, and the signals that control it. */
class Worker
{
public:
    Worker(asio::io_context& context, tenure::Store const& store, Command const& command)
        : place_{command.arena,
                 tenure::test::Auditor::open(command.audit),
                 TestimonyFile{command.testimony},
                 command.register_socket,
                 Pulse{context.get_executor()},
                 {},
                 locks_of(store, command.arena),
                 {}}
        , signals_(context, SIGTERM, SIGUSR1)
    {
        if (command.shares)
            place_.shares.emplace(store, command.arena, *command.shares);
        if (command.arena.slots != 0)
            place_.pool.emplace(
                store,
                tenure::SlotPoolConfig{.prefix = Arena::prefix, .size = command.arena.slots, .ttl = command.arena.ttl});
        for (unsigned task = 0; task < command.tasks; ++task)
            holders_.push_back(
                std::make_unique<Holder>(context.get_executor(), place_, command.seed * 1000 + task, task));
        working_ = command.tasks;
        for (auto& holder : holders_)
            asio::co_spawn(context, holder->take_turns(), [this, &context](std::exception_ptr error) {
                if (error) {
                    failure_ = error;
                    context.stop();
                }
                if (--working_ == 0)
                    end();
            });
        wait_for_signal();
    }

    void rethrow() const
    {
        if (failure_)
            std::rethrow_exception(failure_);
    }

private:
    void wait_for_signal()
    {
        signals_.async_wait([this](boost::system::error_code error, int number) {
            if (error || working_ == 0)
                return;
            if (number == SIGUSR1) {
                std::this_thread::sleep_for(place_.arena.ttl * 3 / 2);
            } else {
                place_.ended = true;
                for (auto& holder : holders_)
                    holder->stop();
            }
            wait_for_signal();
        });
    }

    /** Nothing keeps the context but what the library still has to give back. */
    void end()
    {
        signals_.cancel();
        place_.pulse.stop();
        place_.pool.reset();
        place_.locks.clear();
        place_.shares.reset();
    }

    Workplace place_;
    asio::signal_set signals_;
    std::vector<std::unique_ptr<Holder>> holders_;
    unsigned working_ = 0;
    std::exception_ptr failure_;
};

} // namespace

int main(int count, char** argument)
try {
    if (count == 3 && argument[1] == std::string_view{"--has-mutant"})
        return tenure::mutants::activate(argument[2]) ? 0 : 1;
    if (count < 11)
        throw std::runtime_error("usage: fault_worker URL AUDIT_FILE TESTIMONY_FILE REGISTER_SOCKET SLOTS LOCKS TTL_MS "
                                 "TASKS SEED SHARES [MUTANT]");
    if (count > 11 && !tenure::mutants::activate(argument[11]))
        throw std::runtime_error(std::string{"no such mutant: "} + argument[11]);
    auto const command = read(argument);
    asio::io_context context{1};
    // the name of a process in the store
    tenure::StoreOptions options{.log = tenure::silent_log_sink()};
    if (command.shares)
        options.worker_name = std::to_string(::getpid());
    auto worker =
        std::make_unique<Worker>(context, tenure::open_store(context.get_executor(), command.url, options), command);
    context.run();
    worker->rethrow();
} catch (std::exception const& error) {
    std::fprintf(stderr, "fault_worker: %s\n", error.what());
    return 1;
}
