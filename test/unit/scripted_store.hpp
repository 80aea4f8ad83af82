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

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

namespace tenure::test
{

namespace asio = boost::asio;

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

    std::shared_ptr<std::uint64_t> last_fence = std::make_shared<std::uint64_t>(0);
};

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

} // namespace tenure::test
