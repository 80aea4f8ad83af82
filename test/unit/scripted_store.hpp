// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"
#include "unit/fake_runtime.hpp"
#include "unit/scripted_backend.hpp"

#include <tenure/lock.hpp>
#include <tenure/slot_pool.hpp>
#include <tenure/store.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

namespace tenure::test
{

namespace asio = boost::asio;

/** One acquisition as its caller sees it. */
template <class Holding>
struct Attempt {
    std::optional<error_code> error;
    Holding holding;
    asio::cancellation_signal cancel;

    template <class Source>
    void start(Source const& source, AcquireOptions const& options = {})
    {
        source.async_acquire(
            options, asio::bind_cancellation_slot(cancel.slot(), [this](error_code failure, Holding granted) {
                error = failure;
                holding = std::move(granted);
            }));
    }
};

/** A store in virtual time over a scripted backend, and what its users see. */
struct ScriptedStore : Immovable {
    std::shared_ptr<FakeRuntime> runtime = std::make_shared<FakeRuntime>();
    std::shared_ptr<ScriptedBackend> backend = std::make_shared<ScriptedBackend>(runtime);
    std::optional<Store> store{std::in_place, runtime, backend, StoreOptions{"worker", {}}};

    ScriptedStore() { runtime->run_ready(); }
    ~ScriptedStore()
    {
        // pending operations end by their own time, and the store closes by itself
        store.reset();
        runtime->run_for(std::chrono::hours{2});
        backend->shutdown();
        runtime->run_ready();
        // Requests that the test left unanswered would keep engine and runtime alive for each other.
        runtime->discard();
        runtime->end_context();
        backend->watch_handler = nullptr;
        backend->reachable = nullptr;
    }

    [[nodiscard]] Granted grant(std::chrono::milliseconds ttl, std::uint32_t index = 0) const
    {
        Granted granted;
        granted.index = index;
        granted.ttl = ttl;
        granted.since = runtime->now();
        granted.fencing_token = ++*last_fence;
        return granted;
    }

    /** Answers the oldest claim, and returns it. */
    template <class Answer>
    ClaimRequest answer_claim(Answer answer)
    {
        REQUIRE_FALSE(backend->claims.empty());
        auto request = backend->answer(backend->claims, std::move(answer));
        runtime->run_ready();
        return request;
    }
    ClaimRequest grant_claim(std::chrono::milliseconds ttl, std::uint32_t index = 0)
    {
        return answer_claim(grant(ttl, index));
    }
    /** An acquisition that is granted at once. */
    template <class Holding, class Source>
    void acquire_at_once(Attempt<Holding>& attempt, Source const& source, std::chrono::milliseconds ttl)
    {
        attempt.start(source);
        runtime->run_ready();
        grant_claim(ttl);
    }
    /** The only release that is asked for is confirmed. */
    void answer_release()
    {
        REQUIRE(backend->releases.size() == 1);
        backend->answer(backend->releases, Released{});
        runtime->run_ready();
    }
    /** Every release is answered like this, until there is none left. */
    template <class Reply>
    void answer_releases(Reply const& reply)
    {
        while (!backend->releases.empty()) {
            backend->answer(backend->releases, reply);
            runtime->run_ready();
        }
    }
    /** The next renewal, which comes within the ttl, finds that the key has another owner. */
    void refuse_renewal(std::chrono::milliseconds ttl)
    {
        REQUIRE(runtime->run_while_not([&] { return !backend->renewals.empty(); }, ttl));
        backend->answer(backend->renewals, NotOwner{});
        runtime->run_ready();
    }
    /** Lets time pass, and answers each of these requests with `reply()`. */
    template <class Requests, class Reply>
    void pass(std::chrono::milliseconds time, Requests& requests, Reply reply)
    {
        auto const end = runtime->now() + time;
        while (runtime->now() < end) {
            while (!requests.empty())
                backend->answer(requests, reply());
            runtime->run_for(std::chrono::milliseconds{10});
        }
    }

    std::shared_ptr<std::uint64_t> last_fence = std::make_shared<std::uint64_t>(0);
};

} // namespace tenure::test
