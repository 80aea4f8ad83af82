// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/signal_set.hpp>

#include <functional>

namespace tenure::tool
{

class Inheritance;

/** The signals that `tenure run` does not leave to their defaults: ended children, and what a command may be sent.
 * Those that the program's starter ignores stay ignored. */
class SignalRelay
{
public:
    SignalRelay(boost::asio::any_io_executor const& executor, Inheritance const& inheritance);

    /** Calls the handler for each signal from now on, until `stop`. */
    void start(std::function<void(int)> handler);
    void stop();

private:
    void wait();

    boost::asio::signal_set signals_;
    std::function<void(int)> handler_;
};

/** True for a signal by which people and machines ask a program to end. */
[[nodiscard]] bool asks_to_end(int signal) noexcept;

} // namespace tenure::tool
