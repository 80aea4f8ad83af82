// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "run/signal_relay.hpp"

#include "run/inheritance.hpp"

#include <csignal>
#include <utility>

namespace tenure::tool
{

SignalRelay::SignalRelay(boost::asio::any_io_executor const& executor, Inheritance const& inheritance)
    : signals_(executor, SIGCHLD)
{
    for (auto const signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP})
        if (!inheritance.ignores(signal))
            signals_.add(signal);
}

void SignalRelay::start(std::function<void(int)> handler)
{
    handler_ = std::move(handler);
    wait();
}

void SignalRelay::stop()
{
    handler_ = nullptr;
    signals_.cancel();
}

void SignalRelay::wait()
{
    signals_.async_wait([this](boost::system::error_code const& error, int signal) {
        if (error || !handler_)
            return;
        handler_(signal);
        wait();
    });
}

bool asks_to_end(int signal) noexcept
{
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

} // namespace tenure::tool
