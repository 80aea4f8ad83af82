// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "output/report.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <string>

namespace tenure::tool
{

/** Brings a store's log lines into a picture, where they must not be written to the terminal past it. The lines may
 * come on any thread, and even after the picture is gone: then they go to the report. */
class LogRelay
{
public:
    using Handler = std::function<void(LogLevel, std::string)>;

    /** @param handler  called on the executor, until this object goes: on the thread that runs the executor */
    LogRelay(boost::asio::any_io_executor executor, Handler handler);
    LogRelay(LogRelay const&) = delete;
    LogRelay& operator=(LogRelay const&) = delete;
    ~LogRelay();

    /** Takes the lines that the report would write. */
    [[nodiscard]] LogSink sink(Report const& report) const;

private:
    struct State;

    std::shared_ptr<State> state_;
};

} // namespace tenure::tool
