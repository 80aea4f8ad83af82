// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "demo/crew.hpp"

#include "output/report.hpp"
#include "run/child_process.hpp"
#include "run/inheritance.hpp"

#include <tenure/open_store.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>

#include <unistd.h>

#include <csignal>
#include <exception>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace tenure::tool
{

namespace asio = boost::asio;

namespace
{

class CrewOfCoroutines : public DemoCrew
{
public:
    CrewOfCoroutines(DemoSettings const& settings, DemoBoard& board, asio::io_context& loop)
        : settings_(settings)
        , board_(board)
        , loop_(loop)
    {
    }
    CrewOfCoroutines(CrewOfCoroutines const&) = delete;
    CrewOfCoroutines& operator=(CrewOfCoroutines const&) = delete;
    ~CrewOfCoroutines() override { end_thread(); }

    void start() override
    {
        for (std::uint32_t index = 0; index < settings_.workers; ++index)
            spawn(index == settings_.victim() ? victim_loop_ : loop_, index);
        thread_ = std::thread([this] { victim_loop_.run(); });
    }

    void kill_victim() override { end_thread(); }

    bool ended() override { return running_ == 0; }

    std::string describe() const override { return "coroutines of this process"; }

private:
    void spawn(asio::io_context& loop, std::uint32_t index)
    {
        StoreOptions options;
        options.worker_name = demo_worker_name(index);
        // the workers' stores would warn of the faults that the demo causes on purpose
        auto const report = Report(settings_.verbosity);
        options.log = settings_.verbosity > 0 ? report.sink() : silent_log_sink();
        options.log_level = report.level();
        auto pool =
            SlotPool(open_store(loop.get_executor(), settings_.url, std::move(options)), settings_.pool_config());
        auto const counts = index != settings_.victim();
        running_ += counts ? 1 : 0;
        asio::co_spawn(loop, work_for_demo(std::move(pool), board_, index), [this, counts](std::exception_ptr failure) {
            running_ -= counts ? 1 : 0;
            if (failure)
                std::rethrow_exception(failure);
        });
    }

    /** Stops the loop for good: as after kill -9, nothing is renewed or released. */
    void end_thread()
    {
        victim_loop_.stop();
        if (thread_.joinable())
            thread_.join();
    }

    DemoSettings const& settings_;
    DemoBoard& board_;
    asio::io_context& loop_;
    asio::io_context victim_loop_{1};
    std::thread thread_;
    /// on the loop, the victim not counted
    std::uint32_t running_ = 0;
};

class CrewOfProcesses : public DemoCrew
{
public:
    CrewOfProcesses(DemoSettings const& settings, DemoBoard& board, Inheritance const& inheritance)
        : settings_(settings)
        , board_(board)
        , inheritance_(inheritance.with(board.descriptor()))
    {
    }

    void start() override
    {
        auto const environment = environment_for_workers();
        for (std::uint32_t index = 0; index < settings_.workers; ++index) {
            processes_.push_back(std::make_unique<ChildProcess>(command(index), environment, inheritance_));
            processes_.back()->open_gate();
        }
    }

    void kill_victim() override { processes_.at(settings_.victim())->signal_group(SIGKILL); }
    [[nodiscard]] bool can_pause() const override { return true; }
    void pause(std::uint32_t worker) override { processes_.at(worker)->signal_group(SIGSTOP); }
    void resume(std::uint32_t worker) override { processes_.at(worker)->signal_group(SIGCONT); }

    bool ended() override
    {
        bool all = true;
        for (std::uint32_t index = 0; index < processes_.size(); ++index)
            all = all && (index == settings_.victim() || processes_[index]->ended().has_value());
        return all;
    }

    std::string describe() const override { return "processes of their own"; }

private:
    std::vector<std::string> command(std::uint32_t index) const
    {
        std::vector<std::string> result = {"/proc/self/exe", "demo-worker",
                                           "--board",        std::to_string(board_.descriptor()),
                                           "--index",        std::to_string(index),
                                           "--pool",         settings_.pool,
                                           "--size",         std::to_string(settings_.slots),
                                           "--ttl",          std::to_string(settings_.ttl.count()) + "ms",
                                           "--worker",       demo_worker_name(index)};
        if (settings_.verbosity == 0)
            result.emplace_back("--quiet");
        for (int level = 0; level < settings_.verbosity; ++level)
            result.emplace_back("-v");
        return result;
    }

    /** The URL goes by the environment: it may hold a password, and a command line is public. */
    std::vector<std::string> environment_for_workers() const
    {
        std::vector<std::string> result;
        for (auto const* const* line = environ; *line != nullptr; ++line)
            if (!std::string_view(*line).starts_with("TENURE_STORE="))
                result.emplace_back(*line);
        result.push_back("TENURE_STORE=" + settings_.url);
        return result;
    }

    DemoSettings const& settings_;
    DemoBoard& board_;
    Inheritance inheritance_;
    std::vector<std::unique_ptr<ChildProcess>> processes_;
};

} // namespace

std::unique_ptr<DemoCrew>
make_crew_of_coroutines(DemoSettings const& settings, DemoBoard& board, asio::io_context& loop)
{
    return std::make_unique<CrewOfCoroutines>(settings, board, loop);
}

std::unique_ptr<DemoCrew>
make_crew_of_processes(DemoSettings const& settings, DemoBoard& board, Inheritance const& inheritance)
{
    return std::make_unique<CrewOfProcesses>(settings, board, inheritance);
}

} // namespace tenure::tool
