// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <signal.h>

namespace tenure::test
{

/** A signal that a program waits for. Made before there is another thread, so that no thread takes the signal. */
class AwaitedSignal
{
public:
    explicit AwaitedSignal(int number)
    {
        ::sigemptyset(&wanted_);
        ::sigaddset(&wanted_, number);
        ::pthread_sigmask(SIG_BLOCK, &wanted_, nullptr);
    }

    void wait() const
    {
        int number = 0;
        ::sigwait(&wanted_, &number);
    }

private:
    sigset_t wanted_{};
};

} // namespace tenure::test
