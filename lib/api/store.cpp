// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Store: the public class over the engine, and its queries.
#include <tenure/store.hpp>

#include "engine/completion.hpp"
#include "engine/core.hpp"
#include "engine/machines/lease_terms.hpp"
#include "engine/readiness.hpp"

#include <tenure/errc.hpp>

#include <boost/asio/error.hpp>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace tenure
{

namespace
{

constexpr std::size_t longest_name = 128;
/// a query that no lease depends on is given up after this time
constexpr std::chrono::seconds answer_limit{5};

constexpr std::string_view rule_for_names = " must be printable, without blanks and '/', and at most 128 bytes long";

bool is_name(std::string_view name)
{
    return name.size() <= longest_name && std::ranges::all_of(name, [](char c) {
               return static_cast<unsigned char>(c) > 0x20 && c != 0x7f && c != '/';
           });
}

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
        std::move(options.on_event));
    // which closes what began, where the start fails
    auto handle = std::make_shared<engine::Handle>(std::move(core));
    handle->core()->start();
    return handle;
}

/** A pending query. It keeps the store open while its caller waits for the answer. */
template <class Result>
class Query : public engine::Call<Result>
{
public:
    using engine::Call<Result>::Call;

    void keep_open(std::shared_ptr<engine::Handle> handle) noexcept { handle_ = std::move(handle); }
    [[nodiscard]] bool over() const noexcept { return mark_.ended.load(std::memory_order_acquire); }
    [[nodiscard]] RequestMark& mark() noexcept { return mark_; }

    /** On the strand, by the answer or by the user's cancellation. */
    void complete(error_code error, Result result)
    {
        if (mark_.ended.exchange(true, std::memory_order_acq_rel))
            return;
        if (auto const handle = std::exchange(handle_, nullptr); handle && error == asio::error::operation_aborted)
            handle->core()->drop_abandoned();
        engine::Call<Result>::complete(error, std::move(result));
    }

private:
    std::shared_ptr<engine::Handle> handle_;
    RequestMark mark_;
};

/** Starts a query of the store: `ask(core, deadline, done)` on the strand.
 *  @param honoured  types of cancellation that end it */
template <class Result, class Ask>
void start_query(
    std::shared_ptr<engine::Handle> handle, asio::any_completion_handler<void(error_code, Result)> handler,
    asio::cancellation_type honoured, Ask ask)
{
    auto const runtime = handle->core()->runtime();
    auto call = Query<Result>::template start<Query<Result>>({std::move(handler), runtime.get()}, runtime, honoured);
    if (!handle->core()->same_process()) {
        call->complete_at_once(make_error_code(errc::forked), Result{});
        return;
    }
    runtime->strand().execute([handle = std::move(handle), call = std::move(call), ask = std::move(ask)]() mutable {
        if (call->over())
            return;
        auto const core = handle->core();
        call->keep_open(std::move(handle));
        auto const deadline =
            Deadline(core->runtime()->now() + answer_limit, Deadline::Mark(call, &call->mark())).with_one_attempt();
        ask(*core, deadline, [core, call](error_code error, Result result, std::string detail) {
            FailsWith const failing(detail);
            if (error && !call->over())
                core->store_log().record_error(error, std::move(detail));
            call->complete(error, std::move(result));
        });
    });
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
    if (!core->same_process()) {
        readiness->complete_at_once(make_error_code(errc::forked));
        return;
    }
    core->runtime()->strand().execute([handle, timeout, readiness] { readiness->begin(handle, timeout); });
}

void Store::start_close(HandlePtr const& handle, std::chrono::milliseconds timeout, DoneHandler handler)
{
    auto const core = handle->core();
    auto call = engine::Call<>::start(
        {std::move(handler), core->runtime().get()}, core->runtime(), detail::partial_cancellation);
    if (!core->same_process()) {
        call->complete_at_once(make_error_code(errc::forked));
        return;
    }
    core->runtime()->strand().execute([core, timeout, call = std::move(call)]() mutable {
        core->close_by(engine::later(core->runtime()->now(), std::max(timeout, {})), std::move(call));
    });
}

void Store::start_inspect(HandlePtr handle, KeyRangePtr range, InspectHandler handler)
{
    if (range == nullptr) {
        auto& core = *handle->core();
        auto const invalid = make_error_code(boost::system::errc::invalid_argument);
        engine::Completion<void(error_code, std::vector<KeyState>)> completion(
            std::move(handler), core.runtime().get());
        if (!core.same_process()) {
            std::move(completion).complete_at_once(invalid, {});
            return;
        }
        auto const failing = core.store_log().refuse(
            invalid, "nothing is inspected: the range is null; use the range() of a lock or pool, or named_key");
        std::move(completion).complete_at_once(invalid, {});
        return;
    }
    start_query<std::vector<KeyState>>(
        std::move(handle), std::move(handler), detail::every_cancellation,
        [range = std::move(range)](engine::Core& core, Deadline const& not_after, auto const& done) {
            auto const asked = core.runtime()->now();
            core.backend().inspect(
                range, not_after, [done, range, asked, core = core.shared_from_this()](InspectReply reply) {
                    core->counters().requests.ended(RequestKind::inspect, reply, core->runtime()->now() - asked);
                    if (auto* states = std::get_if<std::vector<KeyState>>(&reply)) {
                        for (auto& state : *states)
                            state.range = range;
                        done({}, std::move(*states), {});
                    } else if (auto* const failure = std::get_if<Failure>(&reply))
                        done(engine::error_for_caller(*failure), {}, std::move(failure->detail));
                });
        });
}

void Store::start_evict(HandlePtr handle, KeyState seen, std::string who, EvictHandler handler)
{
    if (auto& core = *handle->core(); core.same_process() && (!is_name(who) || seen.range == nullptr)) {
        auto const invalid = make_error_code(boost::system::errc::invalid_argument);
        auto const failing = core.store_log().refuse(
            invalid, seen.range == nullptr
                         ? "no key is evicted: the KeyState is not from an inspection, so it names no key"
                         : seen.key() + " is not evicted: who" + std::string(rule_for_names));
        engine::Completion<void(error_code, std::chrono::milliseconds)>(std::move(handler), core.runtime().get())
            .complete_at_once(invalid, {});
        return;
    }
    EvictRequest request;
    request.range = std::move(seen.range);
    request.index = seen.index;
    request.owner = std::move(seen.owner);
    request.evicted_by = std::move(who);
    start_query<std::chrono::milliseconds>(
        std::move(handle), std::move(handler), detail::partial_cancellation,
        [request = std::move(request)](engine::Core& core, Deadline const& not_after, auto const& done) mutable {
            request.not_after = not_after;
            auto const range = request.range;
            auto const index = request.index;
            // an inspection shows the beginning of a longer value, which equals none
            bool const is_cut = request.owner.size() >= KeyState::longest_owner;
            core.backend().evict(std::move(request), [done, range, index, is_cut](EvictReply reply) {
                using std::chrono::milliseconds;
                if (auto const* evicted = std::get_if<Evicted>(&reply))
                    done({}, evicted->remaining.value_or(milliseconds{0}), {});
                else if (std::holds_alternative<NotOwner>(reply) && is_cut)
                    done(
                        make_error_code(errc::key_conflict), milliseconds{0},
                        range->key(index) + ": its value is too long for a lease, so another program wrote it; delete "
                                            "it by hand if no program uses it");
                else if (std::holds_alternative<NotOwner>(reply))
                    done(
                        make_error_code(errc::lease_lost), milliseconds{0},
                        "the key does not bear that owner any more");
                else if (auto* const failure = std::get_if<Failure>(&reply))
                    done(engine::error_for_caller(*failure), milliseconds{0}, std::move(failure->detail));
            });
        });
}

void Store::start_examine(HandlePtr handle, std::chrono::milliseconds ttl, ExamineHandler handler)
{
    start_query<Findings>(
        std::move(handle), std::move(handler), detail::every_cancellation,
        [ttl](engine::Core& core, Deadline const& not_after, auto const& done) {
            if (core.capabilities().examines)
                core.backend().examine(
                    ttl, not_after, [done](Findings findings) { done({}, std::move(findings), {}); });
            else
                done({}, {}, {});
        });
}

} // namespace tenure
