// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A command to run under `tenure run`: occupies the auditor's cell of its slot for as long as its process lives.
//   cell_holder AUDIT_FILE [MILLISECONDS [IGNORE_TERM]]
// The slot comes from TENURE_SLOT, the fencing token from TENURE_FENCING_TOKEN. It ends by itself after MILLISECONDS,
// or on SIGTERM unless IGNORE_TERM is given: then only SIGKILL can end it, like a program that hangs.
#include "harness/auditor.hpp"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

namespace
{

std::string environment(char const* name)
{
    char const* const value = std::getenv(name);
    if (value == nullptr)
        throw std::runtime_error(std::string{name} + " is not set");
    return value;
}

void hold(int count, char** argument)
{
    // SIGTERM stays blocked from here on, so that it cannot come between entering and waiting.
    sigset_t terminating;
    ::sigemptyset(&terminating);
    ::sigaddset(&terminating, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &terminating, nullptr);
    bool const ignores = count > 3;
    if (ignores)
        ::signal(SIGTERM, SIG_IGN);

    auto auditor = tenure::test::Auditor::open(argument[1]);
    auto const slot = static_cast<std::uint32_t>(std::stoul(environment("TENURE_SLOT")));
    auto const entry = auditor.enter(slot, 0, std::stoull(environment("TENURE_FENCING_TOKEN")));

    auto const end =
        tenure::test::boottime_ns() + (count > 2 ? std::stoll(argument[2]) : 3'600'000) * std::int64_t{1'000'000};
    for (;;) {
        auto const left = end - tenure::test::boottime_ns();
        if (left <= 0)
            break;
        timespec const wait{left / 1'000'000'000, left % 1'000'000'000};
        if (::sigtimedwait(&terminating, nullptr, &wait) == SIGTERM)
            break;
    }
    auditor.leave(entry);
}

} // namespace

int main(int count, char** argument)
try {
    if (count < 2)
        throw std::runtime_error("usage: cell_holder AUDIT_FILE [MILLISECONDS [IGNORE_TERM]]");
    hold(count, argument);
} catch (std::exception const& error) {
    std::fprintf(stderr, "cell_holder: %s\n", error.what());
    return 1;
}
