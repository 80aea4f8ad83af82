// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "unit/scripted_store.hpp"

#include <tenure/errc.hpp>
#include <tenure/holder.hpp>
#include <tenure/reentrant_lease.hpp>
#include <tenure/reentrant_lock.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <list>
#include <optional>
#include <string>
#include <utility>

namespace tenure::test
{

namespace asio = boost::asio;

/** A scripted store, and one holder of a re-entrant lock. */
struct Reentrant : ScriptedStore {
    static constexpr std::chrono::milliseconds ttl{3000};

    Holder holder;
    ReentrantLock lock{*store, {.key = "stock", .ttl = ttl}};
    /// where they are stays the same
    std::list<Attempt<ReentrantLease>> attempts;

    ~Reentrant()
    {
        // ends the operations that still wait, because their handlers refer to members of this
        for (auto& attempt : attempts)
            attempt.cancel.emit(asio::cancellation_type::terminal);
        for (auto& ending : endings)
            ending.cancel.emit(asio::cancellation_type::terminal);
        runtime->run_ready();
    }

    /** Begins an acquisition. */
    Attempt<ReentrantLease>& ask(ReentrantLock const& what, Holder const& by, AcquireOptions const& options = {})
    {
        attempts.emplace_back().start(what.for_holder(by), options);
        runtime->run_ready();
        return attempts.back();
    }
    Attempt<ReentrantLease>& ask(Holder const& by, AcquireOptions const& options = {})
    {
        return ask(lock, by, options);
    }
    Attempt<ReentrantLease>& ask(AcquireOptions const& options = {}) { return ask(holder, options); }

    /** Grants the oldest claim. */
    void grant_claim()
    {
        REQUIRE_FALSE(backend->claims.empty());
        backend->answer(backend->claims, grant(backend->claims.front().request.ttl));
        runtime->run_ready();
    }
    /** The key is held by another program. */
    void refuse_claim()
    {
        REQUIRE_FALSE(backend->claims.empty());
        backend->answer(backend->claims, Busy{});
        runtime->run_ready();
    }
    template <class Answer>
    void answer_release(Answer answer)
    {
        REQUIRE_FALSE(backend->releases.empty());
        backend->answer(backend->releases, std::move(answer));
        runtime->run_ready();
    }
    /** Lets time pass; claims are answered with "busy", and renewals succeed. */
    void pass(std::chrono::milliseconds time)
    {
        for (auto const end = runtime->now() + time; runtime->now() < end;
             runtime->run_for(std::chrono::milliseconds{10})) {
            while (!backend->claims.empty())
                refuse_claim();
            while (!backend->renewals.empty())
                backend->answer(backend->renewals, Renewed{ttl, runtime->now()});
        }
    }
    /** Another client deletes the key, which the next renewal detects. */
    void lose()
    {
        REQUIRE(runtime->run_while_not([&] { return !backend->renewals.empty(); }, ttl));
        backend->answer(backend->renewals, NotOwner{});
        runtime->run_ready();
    }
    /** How a release ends. */
    struct Ending {
        std::optional<error_code> error;
        ReleaseOutcome outcome{};
        asio::cancellation_signal cancel;
    };
    std::list<Ending> endings;
    Ending& release(ReentrantLease& hold)
    {
        auto& ending = endings.emplace_back();
        hold.async_release(
            asio::bind_cancellation_slot(ending.cancel.slot(), [&ending](error_code error, ReleaseOutcome outcome) {
                ending.error = error;
                ending.outcome = outcome;
            }));
        runtime->run_ready();
        return ending;
    }
};

} // namespace tenure::test
