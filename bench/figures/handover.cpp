// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "figures/figures.hpp"

#include "harness/child.hpp"
#include "harness/control.hpp"
#include "harness/stopwatch.hpp"
#include "library/workloads.hpp"
#include "raw/client.hpp"
#include "raw/workloads.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

namespace bench
{

namespace
{

/** A process that holds the lock or waits for it, and the conductor's end of the socket to it. */
class Player
{
public:
    explicit Player(std::function<void(int)> const& play)
    {
        std::array<int, 2> ends{};
        if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0)
            throw std::system_error(errno, std::generic_category(), "socketpair");
        pid_ = ::fork();
        if (pid_ < 0)
            throw std::system_error(errno, std::generic_category(), "fork");
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::close(ends[0]);
            run(play, ends[1]);
        }
        ::close(ends[1]);
        control = Control(ends[0]);
    }
    Player(Player const&) = delete;
    Player& operator=(Player const&) = delete;
    ~Player()
    {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        ::close(control.descriptor());
    }

    Control control{-1};

private:
    [[noreturn]] static void run(std::function<void(int)> const& play, int descriptor)
    {
        int status = 0;
        try {
            play(descriptor);
        } catch (std::exception const& error) {
            std::fprintf(stderr, "bench: %s\n", error.what());
            status = 1;
        }
        std::fflush(nullptr);
        ::_exit(status);
    }

    pid_t pid_ = -1;
};

/** Looks at the server from outside. */
class Observer
{
public:
    explicit Observer(std::uint16_t port)
        : client_(port)
    {
    }

    /** Commands that others have sent so far. */
    long long others_commands()
    {
        statistics_ = client_.ask({"INFO", "stats"}).text;
        return field("total_commands_processed:") - ++own_;
    }

    /** Until somebody has sent something since `before`, has subscribed and then sent nothing for a while. */
    void until_parked(long long before)
    {
        constexpr int quiet_polls = 4;
        auto const begin = Steady::now();
        auto last = before;
        for (int quiet = 0; quiet < quiet_polls;) {
            if (seconds_since(begin) > 10)
                throw std::runtime_error("the waiter does not come to rest");
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            auto const now = others_commands();
            quiet = now == last && now != before && field("pubsub_channels:") > 0 ? quiet + 1 : 0;
            last = now;
        }
    }

private:
    [[nodiscard]] long long field(std::string_view name) const
    {
        auto const position = statistics_.find(name);
        if (position == std::string::npos)
            throw std::runtime_error("INFO has no " + std::string(name));
        return std::stoll(statistics_.substr(position + name.size()));
    }

    raw::Client client_;
    std::string statistics_;
    /// commands of this object, which the server counts too
    long long own_ = 0;
};

/** Conducts hand-overs between two players. @returns p50, from just before the release to the grant elsewhere, in
 * microseconds */
Measurement
conduct(std::uint16_t port, unsigned times, std::function<void(int)> const& hold, std::function<void(int)> const& wait)
{
    Observer observer(port);
    Player const holder(hold);
    Player const waiter(wait);
    std::vector<double> all;
    auto const warm_up = times / 10;
    for (unsigned time = 0; time < warm_up + times; ++time) {
        holder.control.say(Word::acquire);
        holder.control.expect(Word::done);
        auto const before = observer.others_commands();
        waiter.control.say(Word::wait);
        waiter.control.expect(Word::done);
        observer.until_parked(before);
        holder.control.say(Word::release);
        auto const end = waiter.control.hear_instant();
        auto const begin = holder.control.hear_instant();
        waiter.control.expect(Word::done);
        holder.control.expect(Word::done);
        if (time >= warm_up)
            all.push_back(static_cast<double>(end - begin) / 1000);
    }
    holder.control.say(Word::quit);
    waiter.control.say(Word::quit);
    return {median(std::move(all))};
}

} // namespace

void measure_handover(Setting const& setting)
{
    auto const port = setting.redis.port();
    auto const url = setting.redis.url();
    auto const times = setting.extent.handovers;
    auto const run = [&](std::string name, std::function<void(int)> hold, std::function<void(int)> wait) {
        return Candidate{std::move(name), [&setting, port, times, hold = std::move(hold), wait = std::move(wait)] {
                             setting.redis.flush();
                             return in_child(Place::split, [&] { return conduct(port, times, hold, wait); });
                         }};
    };
    auto const library = [&](std::string name, library::Features features) {
        return run(
            std::move(name), [=](int control) { library::hold(url, control, features); },
            [=](int control) { library::wait(url, control, features); });
    };
    auto const all = interleave(
        setting.extent.rounds, {run(
                                    "raw, publish, then SET", [=](int control) { raw::hold(port, control); },
                                    [=](int control) { raw::wait(port, control); }),
                                library("lock", {false, true}), library("lock, fencing", {true, true})});
    for (auto const& series : all)
        setting.report.medians("p50, release to acquire in another process", series, "us");
    setting.report.figure("handover", all[1].median() / all[0].median(), Goal::at_most, 1.5);
}

} // namespace bench
