// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/handover.hpp"

#include "harness/control.hpp"
#include "harness/stopwatch.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

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

/** Waits until the waiter has sent requests since `before`, subscribes, and has been silent for a while. */
void until_parked(Observer& observer, long long before)
{
    constexpr int quiet_polls = 4;
    auto const begin = Steady::now();
    auto last = before;
    for (int quiet = 0; quiet < quiet_polls;) {
        if (seconds_since(begin) > 10)
            throw std::runtime_error(
                "the waiter does not come to rest: " + std::to_string(before) + " requests before, " +
                std::to_string(last) + " now, " + (observer.listened() ? "listened to" : "nobody listens"));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        auto const now = observer.requests_of_others();
        quiet = now == last && now != before && observer.listened() ? quiet + 1 : 0;
        last = now;
    }
}

} // namespace

Measurement conduct(unsigned times, Handover const& handover)
{
    auto const observer = handover.observe();
    Player const holder(handover.hold);
    Player const waiter(handover.wait);
    std::vector<double> all;
    auto const warm_up = times / 10;
    for (unsigned time = 0; time < warm_up + times; ++time) {
        holder.control.say(Word::acquire);
        holder.control.expect(Word::done);
        auto const before = observer->requests_of_others();
        waiter.control.say(Word::wait);
        waiter.control.expect(Word::done);
        until_parked(*observer, before);
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
    auto const tenth = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 10);
    std::nth_element(all.begin(), tenth, all.end());
    auto const best = *tenth;
    return {median(std::move(all)), best};
}

} // namespace bench
