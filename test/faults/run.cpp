// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "run.hpp"

#include "fleet.hpp"
#include "nemesis.hpp"
#include "register_process.hpp"
#include "report.hpp"
#include "share_verdict.hpp"
#include "share_watcher.hpp"
#include "verdict.hpp"
#include "watcher.hpp"

#include "harness/paths.hpp"
#include "harness/scratch_directory.hpp"

#include <tenure/lock.hpp>
#include <tenure/open_store.hpp>

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <fstream>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <thread>

namespace tenure::faults
{

namespace asio = boost::asio;
using namespace std::chrono_literals;
using test::boottime_ns;

namespace
{

/** How much longer than G keys may stay after the end: what a loaded machine takes. */
constexpr std::int64_t clean_slack = 1'000'000'000;

std::string worker_program(Options const& options)
{
    return test::test_program(options.mutant == "none" ? "fault_worker" : "fault_worker_mutants");
}

void check_mutant(Options const& options)
{
    test::ChildProcess probe{test::Command{{worker_program(options), "--has-mutant", options.mutant}}};
    if (probe.wait_for(20s) != test::ExitStatus{0, 0})
        throw std::invalid_argument("--mutant " + options.mutant + ": there is no such planted bug");
}

void check_shares(std::string const& url)
try {
    asio::io_context context;
    Lock(open_store(context.get_executor(), url, {.log = silent_log_sink()}), LockConfig{.key = "fair", .fair = true});
} catch (std::invalid_argument const& error) {
    throw Unsupported(error.what());
}

/** A store, its users, and the watchers of both. */
class Scene
{
public:
    Scene(Options const& options, Scheme const& scheme)
        : arena_{.slots = options.slots,
                 .locks = options.locks,
                 .ttl = scheme.ttl,
                 .frees_at_death = scheme.frees_at_death,
                 .kinds = options.kinds}
        , store_(scheme.open(arena_))
        , auditor_(test::Auditor::create(directory_.file("audit"), arena_.cells()))
        , register_(test::test_program("fenced_register"), directory_.file("register"), directory_.file("stale-writes"))
        , random_(options.seed)
        , begin_(boottime_ns())
        , share_work_{
              .kinds = options.kinds,
              .peers = static_cast<unsigned>(options.workers),
              .begin = begin_,
              .end = begin_ + std::chrono::nanoseconds{options.time}.count(),
              .calm = options.calm}
        , fleet_(setup(options), auditor_, ledger_)
    {
        if (arena_.kinds.empty())
            watcher_.emplace(arena_, auditor_, *store_, ledger_);
        else
            share_watcher_.emplace(arena_, auditor_, *store_, ledger_);
    }

    void make_faults(Options const& options)
    {
        Attack attack{
            arena_,
            auditor_,
            random_,
            ledger_,
            fleet_,
            [this](std::chrono::milliseconds time) { wait(time); },
            [this](std::int64_t now) { return store_->expiry_delay(now); },
            begin_ + std::chrono::nanoseconds{options.time}.count()};
        auto const goes_on = [&] {
            return !options.expect_violation || (ledger_.breach_count() == 0 && !heard_complaint());
        };
        if (options.calm) {
            while (boottime_ns() < attack.end && goes_on())
                wait(100ms);
            return;
        }
        auto all = store_->disturbances();
        for (auto const& more : fleet_.disturbances())
            all.push_back(more);
        std::erase_if(all, [&](Disturbance const& one) { return one.name.find(options.only) == std::string::npos; });
        if (all.empty())
            throw std::invalid_argument("--only " + options.only + ": no fault of this store has such a name");
        if (!arena_.kinds.empty())
            fleet_.harass();
        Nemesis{std::move(all), attack, goes_on}.run();
        fleet_.resume_all();
        wait(arena_.ttl * 2);
    }

    Report finish()
    {
        Report report;
        fleet_.end(20s);
        report.clean_after = wait_until_clean();
        for (auto const& key : store_->endless_keys())
            ledger_.breach("S13", "without ttl in the end: " + key);
        store_->finish(ledger_, std::cout);
        if (watcher_)
            report.figures = watcher_->stop();
        report.writes = register_.totals();
        Verdict verdict{arena_, ledger_, auditor_};
        report.findings = verdict.judge(directory_.file("testimony"), fleet_.robberies());
        verdict.judge_register(register_.log());
        if (share_watcher_) {
            report.share_looks = share_watcher_->stop();
            report.shares = ShareVerdict{arena_, ledger_, auditor_.holdings()}.judge(
                report.findings.testimonies.turns, share_work_);
        }
        report.fleet = fleet_.counts();
        report.faults = ledger_.faults();
        report.breaches = ledger_.breaches();
        report.excused = ledger_.excused();
        report.time = boottime_ns() - begin_;
        std::ifstream output{directory_.file("workers.log")};
        if (output.peek() != std::ifstream::traits_type::eof())
            std::cout << "what workers said:\n" << output.rdbuf();
        return report;
    }

private:
    Fleet::Setup setup(Options const& options) const
    {
        Fleet::Setup setup;
        setup.arena = arena_;
        setup.program = worker_program(options);
        for (std::size_t worker = 0; worker < options.workers; ++worker)
            setup.urls.push_back(store_->url(worker));
        // two for each key, because one may be between two turns: a key without demand would look like a key that
        // cannot be acquired
        auto const tasks = (2 * std::size_t{arena_.cells()} + options.workers - 1) / options.workers;
        setup.tasks = std::max(setup.tasks, static_cast<unsigned>(tasks));
        if (!arena_.kinds.empty()) {
            check_shares(setup.urls.front());
            // so that waiters of one process queue behind each other
            setup.tasks = 3 * arena_.locks;
            setup.shares = share_work_;
        }
        setup.audit = directory_.file("audit");
        setup.testimony = directory_.file("testimony");
        setup.register_socket = register_.socket_path();
        setup.output = directory_.file("workers.log");
        setup.mutant = options.mutant;
        setup.seed = options.seed;
        return setup;
    }

    void wait(std::chrono::milliseconds time)
    {
        auto const until = std::chrono::steady_clock::now() + time;
        for (;;) {
            fleet_.turn();
            auto const left = until - std::chrono::steady_clock::now();
            if (left <= 0ns)
                return;
            std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(left, 10ms));
        }
    }

    /** S9: waits until all keys are free, after the end of all workers. */
    std::int64_t wait_until_clean()
    {
        auto const ended = boottime_ns();
        auto const limit = ended + arena_.ttl_ns() + clean_slack + store_->expiry_delay(ended);
        auto probe = [&] {
            std::uint64_t held = 0;
            for (std::uint32_t cell = 0; cell < arena_.cells(); ++cell)
                held += fleet_.holder_of(cell) ? 1U : 0U;
            return held;
        };
        if (probe() != 0)
            ledger_.breach("S9", "a worker has ended and has not left its cell");
        while (boottime_ns() < limit) {
            if (watcher_ ? watcher_->nothing_held_since(ended) : share_watcher_->nothing_held_since(ended))
                return boottime_ns() - ended;
            std::this_thread::sleep_for(5ms);
        }
        ledger_.breach("S9", "keys are held G and 1 s after everybody has ended");
        return limit - ended;
    }

    /** Whether a worker, or the auditor, saw a rule broken, and the store has nothing to do with it. */
    [[nodiscard]] bool heard_complaint() const
    {
        auto const forgotten = [this](std::uint32_t cell, std::int64_t at) {
            return !ledger_.forgotten_by(cell, at, arena_.ttl_ns()).empty();
        };
        // shares of a key overlap
        auto const overlaps = arena_.kinds.empty() ? auditor_.violations() : std::vector<test::Violation>();
        auto const complaints = read_testimonies(directory_.file("testimony")).complaints;
        return std::ranges::any_of(
                   overlaps,
                   [&](test::Violation const& overlap) {
                       return !forgotten(overlap.later.cell, overlap.later.entered);
                   }) ||
               std::ranges::any_of(
                   complaints, [&](Complaint const& complaint) { return !forgotten(complaint.cell, complaint.at); });
    }

    Arena arena_;
    test::ScratchDirectory directory_;
    Ledger ledger_;
    std::unique_ptr<StoreUnderAttack> store_;
    test::Auditor auditor_;
    RegisterProcess register_;
    Random random_;
    std::int64_t begin_;
    /// of any worker, if the locks are held in shares
    ShareWork share_work_;
    Fleet fleet_;
    // one of the two
    std::optional<Watcher> watcher_;
    std::optional<ShareWatcher> share_watcher_;
};

} // namespace

int run(Options const& options, Scheme const& scheme)
{
    check_mutant(options);
    Scene scene{options, scheme};
    scene.make_faults(options);
    auto const report = scene.finish();
    print(std::cout, report);
    return report.breaches.empty() == options.expect_violation ? 1 : 0;
}

} // namespace tenure::faults
