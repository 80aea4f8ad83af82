// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Store: the public class over the engine. Its queries are in store_queries.cpp.
#include <tenure/store.hpp>

#include "api/store_names.hpp"
#include "engine/completion.hpp"
#include "engine/core.hpp"
#include "engine/machines/lease_terms.hpp"
#include "engine/readiness.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace tenure
{

namespace
{

void check_name(std::string const& field, std::string const& name)
{
    if (!is_name(name))
        throw std::invalid_argument(field + std::string(rule_for_names));
}

/** Refuses names that are reserved for values without an owner. */
void check_not_reserved(std::string const& field, std::string const& name)
{
    for (auto const* const word : {"evicted", "kept", "resting"})
        if (name == word)
            throw std::invalid_argument(field + " must not be '" + name + "': it marks keys without a holder");
}

std::string default_worker_name()
{
    std::string host(256, '\0');
    if (::gethostname(host.data(), host.size() - 1) != 0)
        host = "unknown";
    host.resize(std::min(host.find('\0'), std::size_t{64}));
    std::ranges::replace_if(
        host, [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f || c == '/'; }, '_');
    return host + ":" + std::to_string(::getpid());
}

std::shared_ptr<engine::Handle>
make_handle(std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend, StoreOptions options)
{
    check_name("StoreOptions::worker_name", options.worker_name);
    check_not_reserved("StoreOptions::worker_name", options.worker_name);
    auto name = options.worker_name.empty() ? default_worker_name() : std::move(options.worker_name);
    check_name("StoreOptions::order_name", options.order_name);
    auto core = std::make_shared<engine::Core>(
        std::move(runtime), std::move(backend), std::move(name), std::move(options.order_name),
        std::move(options.on_event), std::move(options.event_context));
    // which closes what began, where the start fails
    auto handle = std::make_shared<engine::Handle>(std::move(core));
    handle->core()->start();
    return handle;
}

} // namespace

Store::Store(std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend, StoreOptions options)
    : handle_(make_handle(std::move(runtime), std::move(backend), std::move(options)))
{
}

asio::any_io_executor const& Store::executor_of(HandlePtr const& handle) noexcept
{
    return handle->core()->runtime()->user_executor();
}

std::string Store::describe() const
{
    return handle_->core()->store_log().store();
}

Statistics Store::statistics() const noexcept
{
    return handle_->core()->counters().snapshot();
}

StoreMetrics Store::metrics() const
{
    auto& core = *handle_->core();
    // in a fork, a thread that is not here may have the table of names for ever
    if (!core.same_process())
        return {statistics(), {}, {}};
    return core.counters().metrics();
}

Diagnostics Store::diagnostics() const
{
    return handle_->core()->store_log().diagnostics();
}

std::string const& Store::worker_name() const noexcept
{
    return handle_->core()->worker_name();
}

void Store::check_detach(std::chrono::milliseconds remaining) const
{
    auto const& core = *handle_->core();
    if (auto const refusal = engine::refuse_detachment(core.capabilities(), remaining))
        throw std::invalid_argument(refusal->words);
}

void Store::start_ready(HandlePtr const& handle, std::chrono::milliseconds timeout, DoneHandler handler)
{
    using engine::Readiness;
    auto const core = handle->core();
    auto const readiness = Readiness::start<Readiness>(
        {std::move(handler), core->runtime().get()}, core->runtime(), detail::every_cancellation);
    if (!core->same_process() || core->is_closed()) {
        readiness->complete_at_once(make_error_code(core->same_process() ? errc::closed : errc::forked));
        return;
    }
    core->runtime()->strand().execute([handle, timeout, readiness] { readiness->begin(handle, timeout); });
}

void Store::start_close(HandlePtr const& handle, std::chrono::milliseconds timeout, DoneHandler handler)
{
    auto const core = handle->core();
    auto call = engine::Call<>::start(
        {std::move(handler), core->runtime().get()}, core->runtime(), detail::partial_cancellation);
    if (!core->same_process() || core->is_closed()) {
        call->complete_at_once(core->same_process() ? error_code() : make_error_code(errc::forked));
        return;
    }
    core->runtime()->strand().execute([core, timeout, call = std::move(call)]() mutable {
        core->close_by(engine::later(core->runtime()->now(), std::max(timeout, {})), std::move(call));
    });
}

} // namespace tenure
