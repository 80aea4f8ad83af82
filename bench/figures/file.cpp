// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The store in a directory, on a file system in memory: no server, so these figures are times and not ratios.
#include "figures/figures.hpp"
#include "figures/holder_of_all_but_last.hpp"
#include "harness/child.hpp"
#include "harness/control.hpp"
#include "harness/handover.hpp"
#include "harness/pages_in_use.hpp"
#include "harness/scratch_directory.hpp"
#include "library/workloads.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace bench
{

namespace
{

/** An own directory for each figure. */
class Directory
{
public:
    [[nodiscard]] std::string url() const { return "file://" + scratch_.path(); }
    [[nodiscard]] std::string file(std::string const& name) const { return scratch_.file(name); }
    /** The range file of a stem. */
    [[nodiscard]] std::string range_file(std::string const& stem) const
    {
        for (auto const& boot : std::filesystem::directory_iterator(scratch_.path()))
            if (boot.is_directory())
                return (boot.path() / "ranges" / ("=" + stem)).string();
        throw std::runtime_error("the directory is empty");
    }

private:
    tenure::test::ScratchDirectory scratch_{tenure::test::ScratchDirectory::Place::memory};
};

/** Pairs per second of processes that have a key each, all together, and the CPU time of one pair. */
Measurement pairs_of_processes(std::string const& url, unsigned processes, double seconds)
{
    std::vector<Child> children;
    children.reserve(processes);
    for (unsigned number = 0; number < processes; ++number)
        children.emplace_back(Place::any, [&] { return library::pairs(url, 1, seconds, library::by_default); });
    Measurement sum{0, 0};
    for (auto& child : children) {
        auto const one = child.result(seconds);
        sum[0] += one[0];
        sum[1] += one[1] / processes;
    }
    return sum;
}

/** A line of waiters: a claim that joins it takes a ticket. */
class LineObserver final : public Observer
{
public:
    explicit LineObserver(Directory const& directory)
        : directory_(directory)
    {
    }

    long long requests_of_others() override
    {
        std::ifstream file(directory_.range_file("bench:handover"), std::ios::binary);
        std::array<long long, 3> header{};
        file.read(reinterpret_cast<char*>(header.data()), sizeof header);
        entries_ = header[2];
        return header[1];
    }
    [[nodiscard]] bool listened() const override { return entries_ > 0; }

private:
    Directory const& directory_;
    long long entries_ = 0;
};

/** The players of a hand-over by flock(2). */
class Flock
{
public:
    explicit Flock(std::string path)
        : path_(std::move(path))
    {
        std::ofstream(path_).flush();
    }

    void hold(int descriptor) const
    {
        Control const control(descriptor);
        int const file = open();
        for (auto word = control.hear(); word != Word::quit; word = control.hear()) {
            if (word == Word::release)
                control.notify_now();
            change(file, word == Word::acquire ? LOCK_EX : LOCK_UN);
            control.say(Word::done);
        }
    }
    void wait(int descriptor) const
    {
        Control const control(descriptor);
        int const file = open();
        while (control.hear() == Word::wait) {
            control.say(Word::done);
            change(file, LOCK_EX);
            auto const end = instant_now();
            change(file, LOCK_UN);
            control.notify(end);
            control.say(Word::done);
        }
    }
    /** Processes that wait for the lock. */
    [[nodiscard]] long long waiting() const
    {
        struct stat status{};
        ::stat(path_.c_str(), &status);
        auto const inode = ":" + std::to_string(status.st_ino) + " ";
        std::ifstream locks("/proc/locks");
        long long count = 0;
        for (std::string line; std::getline(locks, line);)
            count += line.find("->") != std::string::npos && line.find(inode) != std::string::npos ? 1 : 0;
        return count;
    }

private:
    [[nodiscard]] int open() const { return ::open(path_.c_str(), O_RDWR | O_CLOEXEC); }
    static void change(int file, int operation)
    {
        if (::flock(file, operation) != 0)
            throw std::system_error(errno, std::generic_category(), "flock");
    }

    std::string path_;
};

class FlockObserver final : public Observer
{
public:
    explicit FlockObserver(Flock const& flock)
        : flock_(flock)
    {
    }

    long long requests_of_others() override { return waiting_ = flock_.waiting(); }
    [[nodiscard]] bool listened() const override { return waiting_ > 0; }

private:
    Flock const& flock_;
    long long waiting_ = 0;
};

void measure_handover_of_files(Setting const& setting)
{
    Directory const directory;
    Flock const flock(directory.file("flock"));
    Handover const by_lease{
        [&](int control) { library::hold(directory.url(), control, library::by_default); },
        [&](int control) { library::wait(directory.url(), control, library::by_default); },
        [&] { return std::make_unique<LineObserver>(directory); }};
    Handover const by_flock{
        [&](int control) { flock.hold(control); }, [&](int control) { flock.wait(control); },
        [&] { return std::make_unique<FlockObserver>(flock); }};
    auto const run = [&](Handover const& handover) {
        return [&] { return in_child(Place::any, [&] { return conduct(setting.extent.handovers, handover); }); };
    };
    auto const all = interleave(
        setting.extent.rounds, {{"flock(2)", run(by_flock)}, {"lock in a directory, default", run(by_lease)}});
    for (auto const& series : all)
        setting.report.medians("p50, release to acquire in another process", series, "us");
    setting.report.ratio("directory/flock", all[1].median() / all[0].median());
}

} // namespace

void measure_file(Setting const& setting)
{
    auto const& extent = setting.extent;
    constexpr unsigned processes = 4;
    constexpr unsigned keys = 1024;
    constexpr unsigned leases = 1000;
    Directory const directory;
    auto const url = directory.url();
    auto const latency = [&](library::Features features) {
        return
            [=] { return in_child(Place::split, [=] { return library::pair_latency(url, extent.pairs, features); }); };
    };
    auto const pairs = interleave(
        extent.rounds,
        {{"lock", latency(library::plain)},
         {"lock, default", latency(library::by_default)},
         {"4 processes, default", [=] { return pairs_of_processes(url, processes, extent.pair_seconds); }}});
    setting.report.medians("p50 of a pair", pairs[0], "us");
    setting.report.medians("p50 of a pair", pairs[1], "us");
    setting.report.medians("pairs of processes with a key each", pairs[2], "pairs/s");
    setting.report.medians("CPU of one of these pairs", pairs[2], "us", 1);
    setting.report.figure("file_pair_us", pairs[1].median(), Goal::at_most, 15);
    setting.report.figure("file_pairs_4_processes", pairs[2].median(), Goal::at_least, 60'000);

    auto const last_free = interleave(extent.rounds, {{"pool, default", [=] {
                                                           HolderOfAllButLast const holder(url, keys);
                                                           return in_child(Place::split, [=] {
                                                               return library::first_free(
                                                                   url, keys, extent.first_free, library::by_default);
                                                           });
                                                       }}});
    setting.report.medians("p50, first free of 1024", last_free[0], "us");
    setting.report.figure("file_first_free_1024_us", last_free[0].median(), Goal::at_most, 300);

    measure_handover_of_files(setting);

    auto const held =
        interleave(extent.rounds, {{"leases", [=] {
                                        auto const measure = [=] {
                                            PagesInUse const pages;
                                            return library::renewals(url, leases, 3000, extent.renewal_seconds);
                                        };
                                        return in_child(Place::split, measure, extent.renewal_seconds);
                                    }}});
    setting.report.medians("client CPU, 1000 leases of 3 s", held[0], "% of a core");
    setting.report.medians("renewals of a lease per third of its ttl", held[0], "", 1);
    setting.report.figure("file_renew_1000_cpu_percent", held[0].median(), Goal::at_most, 0.2);
}

} // namespace bench
