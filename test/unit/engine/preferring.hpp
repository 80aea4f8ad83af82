// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "unit/scripted_store.hpp"

#include <boost/asio/error.hpp>
#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace tenure::test
{

namespace asio = boost::asio;

/** A pool of eight slots, and one acquisition that prefers slot 5. */
struct Preferring : ScriptedStore {
    static constexpr std::uint32_t preferred = 5;

    SlotPool pool{*store, {.size = 8, .ttl = std::chrono::seconds{3}}};
    Attempt<Slot> attempt;

    void start(AcquireOptions options = {})
    {
        options.prefer = preferred;
        attempt.start(pool, options);
        runtime->run_ready();
    }
    /** The claim asked for slot 5 and for no other, and stands in no line. */
    static void check_asks_for_preferred(ClaimRequest const& request)
    {
        CHECK(*request.range == KeyRange{"thread_id_lock:", preferred, 1, true});
        CHECK(request.waits == Waits::no);
    }
    void check_asks_for_all(ClaimRequest const& request) const { CHECK(*request.range == *pool.range()); }
    /** The only key that is given back. */
    [[nodiscard]] std::string given_back() const
    {
        REQUIRE(backend->releases.size() == 1);
        return backend->releases.front().request.claim->key();
    }
    void cancel()
    {
        attempt.cancel.emit(asio::cancellation_type::terminal);
        runtime->run_ready();
        CHECK(attempt.error == make_error_code(asio::error::operation_aborted));
    }
};

} // namespace tenure::test
