// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "unit/scripted_store.hpp"

#include <tenure/errc.hpp>
#include <tenure/inspection.hpp>
#include <tenure/key_range.hpp>
#include <tenure/view.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

namespace asio = boost::asio;

using Keys = std::vector<KeyState>;

[[nodiscard]] inline KeyState
held_key(std::string owner, std::optional<std::chrono::milliseconds> remaining = std::chrono::seconds{10})
{
    KeyState state;
    state.kind = KeyState::Kind::held;
    state.owner = std::move(owner);
    state.remaining = remaining;
    return state;
}

/** One wait for a change, as its caller sees it. */
struct Change {
    std::optional<error_code> error;
    ViewSnapshot view;
    asio::cancellation_signal cancel;
};

/** A scripted store, and a view of one of its keys. */
struct Viewing : ScriptedStore {
    explicit Viewing(ViewOptions options = {})
    {
        backend->answers_inspections = true;
        view.emplace(*store, named_key("job"), options);
        runtime->run_ready();
    }
    ~Viewing()
    {
        for (auto& change : changes)
            change.cancel.emit(asio::cancellation_type::terminal);
        view.reset();
        runtime->run_ready();
    }

    /** The answer to the read that is under way. */
    void answer(InspectReply reply)
    {
        REQUIRE(backend->inspections.size() == 1);
        backend->answer(backend->inspections, std::move(reply));
        runtime->run_ready();
    }
    void answer(KeyState const& state) { answer(Keys{state}); }
    void answer_unavailable()
    {
        answer(Failure::not_sent(make_error_code(errc::store_unavailable), "scripted: no connection"));
    }

    /** Lets time pass; each read gets this answer. Returns how many there were. */
    int pass(std::chrono::milliseconds time, InspectReply const& reply)
    {
        int reads = 0;
        for (auto const end = runtime->now() + time; runtime->now() < end;
             runtime->run_for(std::chrono::milliseconds{10}))
            for (; !backend->inspections.empty(); ++reads)
                answer(reply);
        return reads;
    }

    void hint()
    {
        backend->watch_handler(WatchEvent::hint);
        runtime->run_ready();
    }

    Change& wait(std::uint64_t seen)
    {
        auto& change = changes.emplace_back();
        view->async_changed(
            seen, asio::bind_cancellation_slot(change.cancel.slot(), [&change](error_code error, ViewSnapshot now) {
                change.error = error;
                change.view = std::move(now);
            }));
        runtime->run_ready();
        return change;
    }

    [[nodiscard]] std::size_t reads() const { return backend->inspections.size(); }

    std::optional<View> view;
    /// where they are stays the same
    std::list<Change> changes;
};

} // namespace tenure::test
