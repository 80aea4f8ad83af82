// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <boost/asio/io_context.hpp>
#include <catch2/catch_test_macros.hpp>

#include <chrono>

namespace tenure::test
{

/** Runs the loop until `done`: a held lease has timers, so that the loop does not end by itself. */
template <class Done>
void run_until(boost::asio::io_context& context, Done done)
{
    auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (!done() && std::chrono::steady_clock::now() < deadline)
        context.run_one_for(std::chrono::milliseconds{100});
    REQUIRE(done());
}

} // namespace tenure::test
