// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "conformance/locks/programs.hpp"

#include <tenure/multi_lock.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

namespace asio = boost::asio;

/** An acquisition of several keys, and its result. It must stay where it is until it has ended. */
struct SetAttempt {
    std::optional<error_code> error;
    LeaseSet set;
    asio::cancellation_signal cancel;

    void start(MultiLock const& locks, AcquireOptions const& options)
    {
        locks.async_acquire(
            options, asio::bind_cancellation_slot(cancel.slot(), [this](error_code result, LeaseSet acquired) {
                error = result;
                set = std::move(acquired);
            }));
    }
};

/** Tries once. @returns the set, or an empty one if others hold any of the keys */
[[nodiscard]] inline LeaseSet try_once(Programs& programs, MultiLock const& locks)
{
    std::optional<error_code> tried;
    LeaseSet result;
    locks.async_try_acquire([&](error_code error, std::optional<LeaseSet> set) {
        tried = error;
        if (set)
            result = std::move(*set);
    });
    programs.run_until([&] { return tried.has_value(); });
    if (*tried)
        throw boost::system::system_error(*tried);
    return result;
}

/** Releases the set, and waits for the answer. */
inline ReleaseOutcome release(Programs& programs, LeaseSet& set)
{
    std::optional<ReleaseOutcome> result;
    set.async_release([&](error_code, ReleaseOutcome outcome) { result = outcome; });
    programs.run_until([&] { return result.has_value(); });
    return *result;
}

/** Whether the key is free, as `Store::async_inspect` shows it. */
[[nodiscard]] inline bool is_free(Programs& programs, Store const& store, std::string const& key)
{
    std::optional<std::vector<KeyState>> states;
    store.async_inspect(named_key(key), [&](error_code error, std::vector<KeyState> seen) {
        if (error)
            throw boost::system::system_error(error);
        states = std::move(seen);
    });
    programs.run_until([&] { return states.has_value(); });
    return states->at(0).kind == KeyState::Kind::free;
}

/** Waits until all keys are free, for less than the ttl of the leases in these tests. */
inline void wait_until_free(Programs& programs, Store const& store, std::vector<std::string> const& keys)
{
    programs.run_until([&] {
        return std::ranges::all_of(keys, [&](std::string const& key) { return is_free(programs, store, key); });
    });
}

} // namespace tenure::test
